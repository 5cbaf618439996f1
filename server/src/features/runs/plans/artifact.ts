import type { ArtifactKind } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'

export const ARTIFACT_PREFIX = 'runs/'

/** The blob key of a file that an agent uploads; one job writes it, once. */
export function artifactKey(runId: string, jobId: string, kind: ArtifactKind) {
  return `${ARTIFACT_PREFIX}${runId}/${jobId}/${kind}`
}

/** JSON documents of a plan, and the configuration that it generated. */
export const JSON_KINDS = [
  'plan-json',
  'plan-json-redacted',
  'generated-configuration',
] as const satisfies ArtifactKind[]

/** Artifacts that only the apply of the plan reads. */
export const FILE_KINDS = ['plan-file', 'lock-file'] as const satisfies ArtifactKind[]

/** The run and the kind of the file at a key. */
export function readArtifactKey(key: string): { runId: string; kind: string } {
  const [runId = '', , kind = ''] = key.slice(ARTIFACT_PREFIX.length).split('/')
  return { runId, kind }
}

const DOCUMENTS: ReadonlySet<ArtifactKind> = new Set(['plan-json', 'plan-json-redacted'])

/** Whether a file is a document of the plan, which may follow the plan's outcome. */
export function isDocument(kind: ArtifactKind) {
  return DOCUMENTS.has(kind)
}

/** The signal that the documents of a plan have come, or never will. */
export function documentsTopic(planId: string) {
  return `plan-documents:${planId}`
}

/** The maximum size of one read. */
export const MAX_READ_BYTES = 1024 * 1024

/** The size of a log's blobs. As it is no less than `MAX_READ_BYTES`, a read opens at most two. */
export const SEGMENT_BYTES = 1024 * 1024

const LOG_URL_HOURS = 25

/** The absolute URL of a log. Its token is in the path, because clients replace the query. */
export function logUrl(ctx: Pick<Ctx, 'secrets' | 'baseUrl' | 'now'>, phaseId: string) {
  const expiresAt = new Date(ctx.now().getTime() + LOG_URL_HOURS * 3_600_000)
  return `${ctx.baseUrl}/_objects/logs/${ctx.secrets.signPath({ purpose: 'log', id: phaseId, expiresAt })}`
}

export const LOG_PREFIX = 'logs/'

export function segmentKey(phaseId: string, index: number) {
  return `${LOG_PREFIX}${phaseId}/${index}`
}

/** The keys of all blobs of a log. */
export function segmentKeys(phaseId: string, size: number) {
  return Array.from({ length: Math.ceil(size / SEGMENT_BYTES) }, (_, index) => segmentKey(phaseId, index))
}

/** How long the agent of a lost apply may still send the rest of its log and its outcome, in ms. */
export const LATE_MS = 24 * 3_600_000
