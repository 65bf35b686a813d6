-- Health of McpAdapter, ApiScrapeSource and McpToolLock for Argo CD. All tell the same conditions; see
-- https://argo-cd.readthedocs.io/en/stable/operator-manual/health/
local function health(status, message)
  return { status = status, message = message }
end

if obj.metadata.deletionTimestamp ~= nil then
  return health("Progressing", "Deleting")
end

local generation = obj.metadata.generation or 0
local status = obj.status or {}
if (status.observedGeneration or 0) < generation then
  return health("Progressing", "Waiting for the operator")
end

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local function is(type, wanted)
  return conditions[type] ~= nil and conditions[type].status == wanted
end

local function message(type, otherwise)
  local text = conditions[type] and conditions[type].message
  if text == nil or text == "" then
    return otherwise
  end
  return text
end

if is("Accepted", "False") then
  return health("Degraded", message("Accepted", "The specification is not accepted"))
end
if is("Stalled", "True") then
  return health("Degraded", message("Stalled", "It cannot go on by itself"))
end
if is("Paused", "True") then
  return health("Suspended", message("Paused", "Paused"))
end
-- A condition of an earlier generation says nothing about this one.
if is("Ready", "True") and (conditions.Ready.observedGeneration or generation) >= generation then
  return health("Healthy", message("Ready", "Ready"))
end
return health("Progressing", message("Ready", message("Progressing", "Waiting for the pods")))
