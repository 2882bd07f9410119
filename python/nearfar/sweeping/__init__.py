"""Studies of many points: what they vary, the store of their results, and what runs them.

    study = Study("rmw", ("model:optane-100",), ("measure chase --region 1MiB",),
                  {"nvdimm.rmw.entries": parse_range("64..256:x2")})
    sweep(study, "rmw.db", parse_work)      # processes of this machine
    read_sweep("rmw.db")                    # a SweepResult

A point is a model, a work and a version of nearfar; its hash is its address in the store, so that
nothing is computed twice.
"""
