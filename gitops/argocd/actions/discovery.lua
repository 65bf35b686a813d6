-- Which actions can be chosen: pause or resume, and restart unless paused, because nothing rolls out then.
local paused = obj.spec ~= nil and obj.spec.paused == true
return {
  pause = { disabled = paused },
  resume = { disabled = not paused },
  restart = { disabled = paused },
}
