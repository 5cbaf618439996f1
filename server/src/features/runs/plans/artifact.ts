import type { ArtifactKind } from '@groundstate/contract/agent'

export const ARTIFACT_PREFIX = 'runs/'

/** The blob key of a file that an agent uploads; one job writes it, once. */
export function artifactKey(runId: string, jobId: string, kind: ArtifactKind) {
  return `${ARTIFACT_PREFIX}${runId}/${jobId}/${kind}`
}
