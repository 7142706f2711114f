"""Systems that can be put on trial: what each can do, and how it is started."""
