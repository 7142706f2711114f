"""Counterexamples of buggy specs, replayed on the reference broker with the same bug.

A replay carries out the actions of a shortest counterexample on the *harness*. The harness is the
part of the reference broker on which the replay runs: a whole simulated cluster, or only a
controller, a group coordinator, or two replicas.

After the last action, the spec's claim is evaluated on the broker's state. The claim must be false
on a broker with the same bug, and true on a broker without the bug. This result shows that a broker
can have the model's bug, and that the model's fix also fixes the broker.

In the following example (`elections`), replica 0 of the spec is broker 1, and replica 1 is broker
2. The left side has the actions of the counterexample, and the right side their effects on the
controller:

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

The function `cells` reads the values of the spec's variables from the harness. Actions that the
broker performs by itself are not carried out (`Replay.by_itself`).
"""
