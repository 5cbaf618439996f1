/** Wakes the agents that wait for a request of the pool. */
export function queueTopic(poolId: string) {
  return `pool-tasks:${poolId}`
}

/** Wakes the process that waits for the response to a request. */
export function responseTopic(requestId: string) {
  return `task-request:${requestId}`
}
