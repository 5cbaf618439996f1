import type { ArtifactKind } from '@groundstate/contract/agent'

export const ARTIFACT_PREFIX = 'runs/'

/** The blob key of a file that an agent uploads; one job writes it, once. */
export function artifactKey(runId: string, jobId: string, kind: ArtifactKind) {
  return `${ARTIFACT_PREFIX}${runId}/${jobId}/${kind}`
}

/** What a plan has as JSON, and the configuration that it wrote. */
export const JSON_KINDS = [
  'plan-json',
  'plan-json-redacted',
  'generated-configuration',
] as const satisfies ArtifactKind[]

/** What an apply needs of its plan; nobody else reads it. */
export const FILE_KINDS = ['plan-file', 'lock-file'] as const satisfies ArtifactKind[]

/** The run and the kind of the file at a key. */
export function readArtifactKey(key: string): { runId: string; kind: string } {
  const [runId = '', , kind = ''] = key.slice(ARTIFACT_PREFIX.length).split('/')
  return { runId, kind }
}

const DOCUMENTS: ReadonlySet<ArtifactKind> = new Set(['plan-json', 'plan-json-redacted'])

/** Whether a file says what a plan contains: such a one may follow the plan's outcome. */
export function isDocument(kind: ArtifactKind) {
  return DOCUMENTS.has(kind)
}

/** The signal that the documents of a plan have come, or never will. */
export function documentsTopic(planId: string) {
  return `plan-documents:${planId}`
}
