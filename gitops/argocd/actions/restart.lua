local os = require("os")
-- The operator rolls the pods whenever this text changes.
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["mcpadapter.io/restartedAt"] = os.date("!%Y-%m-%dT%H:%M:%SZ")
return obj
