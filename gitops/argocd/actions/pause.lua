-- The operator goes on to report, and rolls nothing out.
obj.spec.paused = true
return obj
