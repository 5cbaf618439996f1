import type { App, Ctx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { examineState } from '../../../terraform-state/examined-state.ts'
import type { PackedExtraction } from '../../../terraform-state/packed-extraction.ts'
import {
  type InspectedState,
  type StateHeader,
  jsonObjectFault,
  readStateHeader,
} from '../../../terraform-state/state-header.ts'

const WHOLE_BODY = ''

/** The header of a state, or of OpenTofu's encrypted envelope around one. */
export type ReadableHeader = Exclude<StateHeader, { kind: 'invalid' }>

/** Size from which a worker reads content, in bytes: that takes 20 ms of the event loop. */
const WORKER_FROM = 4 * 1024 * 1024
/** Size up to which a state is examined on the event loop, in bytes: that takes 1 or 2 ms. */
const EXAMINED_HERE = 256 * 1024
/** Size up to which a state is extracted during its request, in bytes: a larger one would occupy a thread and hundreds of MB. */
export const EXAMINED_BYTES = 16 * 1024 * 1024

/** If `extraction` is undefined, the job extracts the state. */
export type Examined = InspectedState & { extraction?: PackedExtraction | null }

/** Reads the MD5 and header of a raw state, and extracts it up to `EXAMINED_BYTES`. The buffer is not transferred to the worker. */
export async function examineContent(ctx: Ctx, content: Buffer): Promise<Examined> {
  if (content.length <= EXAMINED_HERE) return examineState(content)
  const examined = content.length <= EXAMINED_BYTES ? await ctx.workers.examine(content) : undefined
  // Content that cannot be extracted may still have a header.
  const outcome = examined?.ok ? examined : await ctx.workers.inspect(content)
  return outcome.ok ? outcome.value : { md5: '', header: { kind: 'invalid', reason: outcome.reason } }
}

/** The header of a raw state. The buffer must not be used afterwards: a large one is transferred to a worker. */
export async function readHeader(ctx: Ctx, content: Buffer): Promise<StateHeader> {
  if (content.length < WORKER_FROM) return readStateHeader(content)
  const outcome = await ctx.workers.readHeader(content)
  return outcome.ok ? outcome.value : { kind: 'invalid', reason: outcome.reason }
}

/** Throws `invalid` if a state contradicts its declaration at `pointer`, which an upload has not. For an encrypted state, checks only the MD5. */
export function checkContent(
  ctx: Ctx,
  { md5, header }: InspectedState,
  declared: { serial: number; md5: string; lineage: string | null },
  pointer?: string,
): ReadableHeader {
  const at = (name: string) => (pointer === undefined ? WHOLE_BODY : `${pointer}/${name}`)
  if (md5 !== declared.md5) throw invalid(`md5 is ${declared.md5}, but the content of state has ${md5}`, at('md5'))
  if (header.kind === 'invalid') throw invalid(`the state ${header.reason}`, at('state'))
  if (header.kind === 'state' && ctx.config.stateCheck === 'strict') {
    if (header.serial !== declared.serial) {
      throw invalid(`serial is ${declared.serial}, but the content of state has ${header.serial}`, at('serial'))
    }
    if (declared.lineage !== null && (header.lineage ?? declared.lineage) !== declared.lineage) {
      const detail = `lineage is ${declared.lineage || 'empty'}, but the content of state has ${header.lineage}`
      throw invalid(detail, at('lineage'))
    }
  }
  return header
}

/** Throws `invalid` unless content is a JSON object. A large buffer outside of shared memory is transferred to a worker. */
export async function checkJsonState(ctx: Ctx, content: Buffer, pointer = WHOLE_BODY) {
  const fault = await findJsonFault(ctx, content)
  if (fault !== undefined) throw invalid(`the JSON state ${fault}`, pointer)
}

async function findJsonFault(ctx: Ctx, content: Buffer) {
  if (content.length < WORKER_FROM) return jsonObjectFault(content)
  const outcome = await ctx.workers.findJsonFault(content)
  return outcome.ok ? outcome.value : outcome.reason
}

/** The grant of a signed URL: to read or to upload one content of one state version. */
type ObjectKind = 'raw' | 'json' | 'raw-upload' | 'json-upload'

const PURPOSE = 'state-object'
/** Short, since a URL may outlive its reader's permission. Clients download immediately. */
const DOWNLOAD_TTL_MS = 10 * 60_000
/** 25 hours, as in the public API. */
const UPLOAD_TTL_MS = 25 * 3_600_000

export const OBJECT_PATH = '/_objects/v1/object'

/** A URL that needs no token (INTERFACE §4.4). The signature is in the path, since the CLI's log readers replace the query. */
export function objectUrl(app: Pick<App, 'baseUrl' | 'secrets' | 'now'>, kind: ObjectKind, id: string) {
  const lifetimeMs = kind === 'raw' || kind === 'json' ? DOWNLOAD_TTL_MS : UPLOAD_TTL_MS
  const expiresAt = new Date(app.now().getTime() + lifetimeMs)
  return `${app.baseUrl}${OBJECT_PATH}/${app.secrets.signPath({ purpose: PURPOSE, id: `${id}-${kind}`, expiresAt })}`
}

/** The grant of a signed URL's id; undefined if its signature is invalid or it has expired. */
export function openObjectId(app: Pick<App, 'secrets' | 'now'>, objectId: string) {
  const verified = app.secrets.verifyPath(objectId, PURPOSE, app.now())
  if ('problem' in verified) return undefined
  const [, id, kind] = /^(sv-[^-]+)-(.+)$/.exec(verified.id) ?? []
  return id === undefined ? undefined : { kind: kind as ObjectKind, id }
}
