"""Walks through the states of a spec, step by step, in a local web page or through a JSON API.

The package has these modules:

    walks        initial states, enabled actions, and disabled actions with the reason
    paths        a path as text, such as `leader_write(b0); follower_replicate(b1, b0)`
    scopes       the sizes of a spec's types as text, and the arguments to try for a large type
    formulas     reads a formula of the spec language from text, and reports where a mistake is
    logs         finds the variables of a spec that are a log, with its end and other offsets
    pictures     a state as logs, lanes (a row for each broker, for example), messages and tables;
                 derived from the types of variables
    views        the content of the page for the last state of a path
    comparison   the differences between two variants after the same path
    searches     breadth-first searches for a state, in the background
    traces       recorded traces, opened as paths
    trace_lines  the lines of a broker's trace, each with the steps that explain it
    requests     the JSON API
    printed      a view as text for a terminal
    server       the HTTP server, on the loopback address only

The answer to a request depends only on the request, so a link opens the same state in every server.
"""
