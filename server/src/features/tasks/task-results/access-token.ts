/** The context that a result's token is sealed for. */
export function tokenContext(resultId: string) {
  return `task-results/${resultId}/access-token`
}
