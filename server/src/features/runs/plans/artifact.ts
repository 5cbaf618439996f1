import type { ArtifactKind } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'

export const ARTIFACT_PREFIX = 'runs/'

/** The blob key of a file that an agent uploads; written once, by one job. */
export function artifactKey(runId: string, jobId: string, kind: ArtifactKind) {
  return `${ARTIFACT_PREFIX}${runId}/${jobId}/${kind}`
}

/** JSON documents of a plan, and the configuration that it generated. */
export const JSON_KINDS: readonly ArtifactKind[] = ['plan-json', 'plan-json-redacted', 'generated-configuration']

/** Artifacts that only the apply of the plan reads. */
export const FILE_KINDS: readonly ArtifactKind[] = ['plan-file', 'lock-file']

export function readArtifactKey(key: string) {
  const [runId = '', , kind = ''] = key.slice(ARTIFACT_PREFIX.length).split('/')
  return { runId, kind: kind as ArtifactKind }
}

/** Whether a file is a document of the plan, which may be sent after the plan's result. */
export function isDocument(kind: ArtifactKind) {
  return kind === 'plan-json' || kind === 'plan-json-redacted'
}

export function documentsTopic(planId: string) {
  return `plan-documents:${planId}`
}

/** Maximum size of one read, in bytes. */
export const MAX_READ_BYTES = 1024 * 1024

/** Size of a log's blobs, in bytes. It is at least `MAX_READ_BYTES`, so a read opens at most two. */
export const SEGMENT_BYTES = 1024 * 1024

const LOG_URL_TTL_MS = 25 * 3_600_000

/** The context in which a plan or apply is shown. */
export type UrlCtx = Pick<Ctx, 'secrets' | 'baseUrl' | 'now' | 'actor'>

/**
 * The absolute URL of a log. Its token is in the path, because clients replace the query. The CLI reads it until the end of the run, so the token
 * names the user, whose permission each read checks.
 */
export function logUrl({ secrets, baseUrl, now, actor }: UrlCtx, phaseId: string) {
  const expiresAt = new Date(now().getTime() + LOG_URL_TTL_MS)
  const id = actor.kind === 'user' ? `${phaseId}-${actor.userId}` : phaseId
  return `${baseUrl}/_objects/logs/${secrets.signPath({ purpose: 'log', id, expiresAt })}`
}

/** The phase and the user in the token of a log's URL; undefined if the token is invalid or expired. */
export function readLogToken(ctx: Pick<Ctx, 'secrets' | 'now'>, token: string) {
  const grant = ctx.secrets.verifyPath(token, 'log', ctx.now())
  const [, phaseId, readerId] = 'problem' in grant ? [] : (/^(\w+-\w+)(?:-(.+))?$/.exec(grant.id) ?? [])
  return phaseId === undefined ? undefined : { phaseId, readerId }
}

/** The result of reading a blob; undefined if there is none. */
export async function ifStored<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch((error: unknown) => {
    if (error instanceof BlobNotFoundError) return undefined
    throw error
  })
}

export const LOG_PREFIX = 'logs/'

export function segmentKey(phaseId: string, index: number) {
  return `${LOG_PREFIX}${phaseId}/${index}`
}

export function segmentKeys(phaseId: string, size: number) {
  return Array.from({ length: Math.ceil(size / SEGMENT_BYTES) }, (_, index) => segmentKey(phaseId, index))
}

/** Time during which the agent of a lost apply may still send the rest of its log and its result, in ms. */
export const LATE_RESULT_WINDOW_MS = 24 * 3_600_000
