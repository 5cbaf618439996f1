import type { ArtifactKind } from '@groundstate/contract/agent'

export const ARTIFACT_PREFIX = 'runs/'

/** Where an agent's files are kept; each is written once by one job. */
export function artifactKey(runId: string, jobId: string, kind: ArtifactKind) {
  return `${ARTIFACT_PREFIX}${runId}/${jobId}/${kind}`
}
