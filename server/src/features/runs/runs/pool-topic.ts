/** The signal that an agent of the pool may find a job now. */
export function poolTopic(poolId: string) {
  return `pool:${poolId}`
}
