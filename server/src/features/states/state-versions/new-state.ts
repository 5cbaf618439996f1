import type { CreateStateVersion } from '@groundstate/contract/state-versions'
import type { Ctx } from '../../../app.ts'
import { AppError, invalid } from '../../../errors.ts'
import { md5Of } from './content.ts'
import { type SealedOutput, sealOutputs } from './extraction-columns.ts'
import { outputsFromJson } from '../../../terraform-state/extraction.ts'
import { jsonObjectFault, readStateHeader, type StateHeader } from '../../../terraform-state/state-header.ts'

const ATTRIBUTES = '/data/attributes'
/** The JSON pointer to all of a body. */
const WHOLE_BODY = ''

/** The attributes that hold a content, as base64. */
export const CONTENT_FIELDS = ['state', 'json-state', 'json-state-outputs'] as const
type ContentField = (typeof CONTENT_FIELDS)[number]

/** A request for a new version. Of long contents there are the bytes, by name; their texts say nothing then. */
export type NewVersionInput = CreateStateVersion & { contents: Partial<Record<ContentField, Buffer>> }

/** What a request for a new version carries, decoded and checked against itself. */
export type NewState = {
  serial: number
  md5: string
  /** Null when none is known; empty when the request of a pending version says that there is none. */
  lineage: string | null
  force: boolean
  raw: { content: Buffer; header: ReadableHeader } | undefined
  json: Buffer | undefined
  outputs: SealedOutput[]
}

/** Throws `invalid`, with a pointer, where the request contradicts itself or its content. */
export function readNewState(ctx: Ctx, { attributes, contents }: NewVersionInput): NewState {
  const state = { serial: attributes.serial, md5: attributes.md5, lineage: attributes.lineage ?? null }
  if (attributes.state === '') throw invalid('state is empty', `${ATTRIBUTES}/state`)
  const given = (name: ContentField, text: string) => contents[name] ?? decoded(text, name)
  const content = typeof attributes.state === 'string' ? given('state', attributes.state) : undefined
  // An empty text is what the command line sends when it has no JSON state.
  const json = attributes['json-state'] ? given('json-state', attributes['json-state']) : undefined
  const outputs = attributes['json-state-outputs']
    ? given('json-state-outputs', attributes['json-state-outputs'])
    : undefined
  if (json) checkJsonState(json, `${ATTRIBUTES}/json-state`)
  const raw = content && { content, header: checkContent(ctx, content, md5Of(content), state, ATTRIBUTES) }
  return {
    ...state,
    lineage: raw ? state.lineage || raw.header.lineage || null : state.lineage,
    force: attributes.force ?? false,
    raw,
    json,
    outputs: outputs ? readOutputs(ctx, outputs) : [],
  }
}

/** The header of a state, or of OpenTofu's encrypted envelope around one. */
export type ReadableHeader = Exclude<StateHeader, { kind: 'invalid' }>

/**
 * Checks a raw state against what was declared for it; `pointer` is where the declaration stood; an upload has
 * none, its faults are those of the whole body.
 * Serial and lineage of an encrypted state are taken from the declaration.
 */
export function checkContent(
  ctx: Ctx,
  content: Buffer,
  md5: string,
  declared: { serial: number; md5: string; lineage: string | null },
  pointer?: string,
): ReadableHeader {
  const at = (name: string) => (pointer === undefined ? WHOLE_BODY : `${pointer}/${name}`)
  if (md5 !== declared.md5) {
    throw invalid(`md5 is ${declared.md5}, but the content of state has ${md5}`, at('md5'))
  }
  const header = readStateHeader(content)
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

/** Throws `invalid` unless a JSON state is a JSON object; of a large one, what is nested in it is not looked at. */
export function checkJsonState(content: Buffer, pointer = WHOLE_BODY) {
  const reason = jsonObjectFault(content)
  if (reason !== undefined) throw invalid(`the JSON state ${reason}`, pointer)
}

/** Node reads past what is no base64; a length that does not add up tells that it did. */
function decoded(text: string, name: string): Buffer {
  const content = Buffer.from(text, 'base64')
  if (content.length === base64Bytes(text)) return content
  const bare = text.replaceAll(/\s+/g, '')
  if (content.length === base64Bytes(bare)) return content
  const at = bare.search(/[^A-Za-z0-9+/_=-]/)
  const fault = at === -1 ? 'it ends within a byte, or goes on after its padding' : `it has ${shownCharacter(bare, at)}`
  throw invalid(`${name} is not valid base64: ${fault}`, `${ATTRIBUTES}/${name}`)
}

function shownCharacter(text: string, at: number) {
  return JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))
}

function base64Bytes(text: string) {
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === 0x3d) end--
  return end % 4 === 1 ? -1 : Math.floor((end * 3) / 4)
}

function readOutputs(ctx: Ctx, content: Buffer) {
  const pointer = `${ATTRIBUTES}/json-state-outputs`
  let parsed: unknown
  try {
    parsed = JSON.parse(content.toString('utf8'))
  } catch (error) {
    throw invalid(`json-state-outputs is not valid JSON: ${error instanceof Error ? error.message : ''}`, pointer)
  }
  try {
    return sealOutputs(ctx, parsed === null ? [] : outputsFromJson(parsed))
  } catch (error) {
    if (error instanceof AppError) throw invalid(`json-state-outputs: ${error.message}`, pointer)
    if (error instanceof RangeError) throw invalid('json-state-outputs is nested too deep', pointer)
    throw error
  }
}
