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

/** The JSON pointer to all of a body. */
const WHOLE_BODY = ''

/** The header of a state, or of OpenTofu's encrypted envelope around one. */
export type ReadableHeader = Exclude<StateHeader, { kind: 'invalid' }>

/** From this size on (bytes) content is read by a worker: 20 ms of the event loop. */
const WORKER_FROM = 4 * 1024 * 1024
/** Up to this size (bytes) a state is examined at once: 1 or 2 ms of the event loop. */
const EXAMINED_HERE = 256 * 1024
/**
 * Up to this size (bytes) a state is extracted while its request waits: the bytes are there, and the version is stored by one
 * statement without a job. A larger one would take a thread for long, and hundreds of MB.
 */
export const EXAMINED_BYTES = 16 * 1024 * 1024

/** Result of examining a raw state. If `extraction` is undefined, the job extracts it. */
export type Examined = InspectedState & { extraction?: PackedExtraction | null }

/** Reads a raw state, which is not given away: its MD5, its header, and up to `EXAMINED_BYTES` all that is extracted. */
export async function examineContent(ctx: Ctx, content: Buffer): Promise<Examined> {
  if (content.length <= EXAMINED_HERE) return examineState(content)
  const examined = content.length <= EXAMINED_BYTES ? await ctx.workers.examine(content) : undefined
  // What can't be examined as a whole may have a header all the same.
  const outcome = examined?.ok ? examined : await ctx.workers.inspect(content)
  return outcome.ok ? outcome.value : { md5: '', header: { kind: 'invalid', reason: outcome.reason } }
}

/** The header of a raw state, for content that no one uses afterwards: a large one is given away to a worker. */
export async function readHeader(ctx: Ctx, content: Buffer): Promise<StateHeader> {
  if (content.length < WORKER_FROM) return readStateHeader(content)
  const outcome = await ctx.workers.readHeader(content)
  return outcome.ok ? outcome.value : { kind: 'invalid', reason: outcome.reason }
}

/**
 * Checks a raw state against its declared properties, and throws `invalid`. `pointer` points to the declaration; for an
 * upload, which has none, the error points to the whole body. The serial and lineage of an encrypted state are not checked.
 */
export function checkContent(
  ctx: Ctx,
  { md5, header }: InspectedState,
  declared: { serial: number; md5: string; lineage: string | null },
  pointer?: string,
): ReadableHeader {
  const at = (name: string) => (pointer === undefined ? WHOLE_BODY : `${pointer}/${name}`)
  if (md5 !== declared.md5) {
    throw invalid(`md5 is ${declared.md5}, but the content of state has ${md5}`, at('md5'))
  }
  if (header.kind === 'invalid') throw invalid(`the state ${header.reason}`, at('state'))
  if (header.kind === 'state' && ctx.config.stateCheck === 'strict') {
    if (header.serial !== declared.serial) {
      throw invalid(`serial is ${declared.serial}, but the content of state has ${header.serial}`, at('serial'))
    }
    if (declared.lineage !== null && (header.lineage ?? declared.lineage) !== declared.lineage) {
      throw invalid(
        `lineage is ${declared.lineage || 'empty'}, but the content of state has ${header.lineage}`,
        at('lineage'),
      )
    }
  }
  return header
}

/**
 * Throws `invalid` unless a JSON state is a JSON object. What is nested in a large one is not checked; unless it is in shared
 * memory it is given away, as by `readHeader`.
 */
export async function checkJsonState(ctx: Ctx, content: Buffer, pointer = WHOLE_BODY) {
  const fault = await findJsonFault(ctx, content)
  if (fault !== undefined) throw invalid(`the JSON state ${fault}`, pointer)
}

async function findJsonFault(ctx: Ctx, content: Buffer) {
  if (content.length < WORKER_FROM) return jsonObjectFault(content)
  const outcome = await ctx.workers.findJsonFault(content)
  return outcome.ok ? outcome.value : outcome.reason
}

/** Grant of a signed URL: to read one content of one state version, or to upload it once. */
type ObjectKind = 'raw' | 'json' | 'raw-upload' | 'json-upload'

const PURPOSE = 'state-object'
/** As in the public API: 25 h, in ms. */
const LIFETIME_MS = 25 * 3_600_000

export const OBJECT_PATH = '/_objects/v1/object'

/**
 * The URL under which the content of version `id` is read or uploaded without a token (INTERFACE §4.4). The signature is part of
 * the path, since the log readers of the command line replace the query.
 */
export function objectUrl(app: Pick<App, 'baseUrl' | 'secrets' | 'now'>, kind: ObjectKind, id: string) {
  const expiresAt = new Date(app.now().getTime() + LIFETIME_MS)
  return `${app.baseUrl}${OBJECT_PATH}/${app.secrets.signPath({ purpose: PURPOSE, id: `${id}-${kind}`, expiresAt })}`
}

/** The grant of a signed URL's id; undefined if its signature is invalid or it has expired. */
export function openObjectId(
  app: Pick<App, 'secrets' | 'now'>,
  objectId: string,
): { kind: ObjectKind; id: string } | undefined {
  const verified = app.secrets.verifyPath(objectId, PURPOSE, app.now())
  if ('problem' in verified) return undefined
  const [, id, kind] = /^(sv-[^-]+)-(.+)$/.exec(verified.id) ?? []
  return id === undefined ? undefined : { kind: kind as ObjectKind, id }
}
