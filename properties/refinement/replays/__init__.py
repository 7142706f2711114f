"""Counterexamples of buggy specs, replayed on the reference broker with the same bug.

The exploration of a model finds a bug's shortest counterexample: a list of actions. A replay
carries these actions out on a part of the reference broker, the harness, once with the same bug and
once without it. Then the spec's own claim is evaluated on the broker's state: it must be false with
the bug and true without it. So a real broker can have the bug, and the model's fix also fixes the
broker. A harness is a whole simulated cluster, or only a controller, a group coordinator, or two
replicas. An example (`elections`), in which replica 0 of the spec is broker 1, and replica 1 is
broker 2:

    election, variant elects-the-dead            the controller of the reference broker
    -----------------------------------          ------------------------------------------------
    init                                   -->   registers brokers 1 and 2, elects broker 1
    kill(0)                                -->   nothing: the controller cannot know yet
    expire_session(1)                      -->   no heartbeat of broker 2 for a session: fences it
    detect_crash(0)                        -->   no heartbeat of broker 1: nobody leads, ELR {1}
    register(0)                            -->   broker 1 registers after an unclean stop
                                                          |
                                                          |  cells(harness)
                                                          v
    leader_is_alive_and_in_isr       evaluated on   partition_registration.leader = 0,
                                                    registration.fenced[0] = true, ...

    with Bug.DEAD_LEADER_RETURNS     false: the controller elects the fenced broker, as in the model
    without the bug                  true

The function `cells` of a replay reads the harness as values of the spec's variables. A message that
arrives late in the counterexample is held by the simulated network until the action that receives
it. Some actions need nothing of the replay, because the broker takes these steps by itself
(`Replay.by_itself`). Each module describes one harness and the replays on it; `replay` has their
common shape.
"""
