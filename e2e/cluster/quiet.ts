/** Files of tests that count every failed call, or that crash parts of the cluster: they run when all others have ended. */
export const QUIET = /e2e\/operator\/(rollouts|control-plane)\.cluster\.ts$/;
