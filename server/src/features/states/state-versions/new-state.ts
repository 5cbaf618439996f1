import { parseExact } from '@groundstate/contract/exact-json'
import type { CreateStateVersion } from '@groundstate/contract/state-versions'
import type { Ctx } from '../../../app.ts'
import { AppError, invalid } from '../../../errors.ts'
import { outputsFromJson } from '../../../terraform-state/extraction.ts'
import type { PackedExtraction } from '../../../terraform-state/packed-extraction.ts'
import { type SealedOutput, sealOutputs } from '../state-version-outputs/sealed-output.ts'
import { checkContent, checkJsonState, examineContent, type ReadableHeader } from './content-rules.ts'

const ATTRIBUTES = '/data/attributes'

/** The attributes that hold a content, as base64. */
export const CONTENT_FIELDS = ['state', 'json-state', 'json-state-outputs'] as const
type ContentField = (typeof CONTENT_FIELDS)[number]

/** A request for a new version. Long contents come as bytes, by name; ignore their texts in the attributes then. */
export type NewVersionInput = CreateStateVersion & { contents: Partial<Record<ContentField, Buffer>> }

/** A request for a new version, decoded and free of contradictions. */
export type NewState = {
  serial: number
  md5: string
  /** Null when it is not known; empty when the request for a pending version says that there is none. */
  lineage: string | null
  force: boolean
  raw: { content: Buffer; header: ReadableHeader; extraction: PackedExtraction | null | undefined } | undefined
  json: Buffer | undefined
  outputs: SealedOutput[]
}

/** Throws `invalid`, with a pointer, where the request contradicts itself or its content. */
export async function readNewState(ctx: Ctx, { attributes, contents }: NewVersionInput): Promise<NewState> {
  const state = { serial: attributes.serial, md5: attributes.md5, lineage: attributes.lineage ?? null }
  if (attributes.state === '') throw invalid('state is empty', `${ATTRIBUTES}/state`)
  const given = (name: ContentField, text: string) => contents[name] ?? decoded(text, name)
  const content = typeof attributes.state === 'string' ? given('state', attributes.state) : undefined
  // An empty text is what the command line sends when it has no JSON state.
  const json = attributes['json-state'] ? given('json-state', attributes['json-state']) : undefined
  const outputs = attributes['json-state-outputs']
    ? given('json-state-outputs', attributes['json-state-outputs'])
    : undefined
  if (json) await checkJsonState(ctx, json, `${ATTRIBUTES}/json-state`)
  const examined = content && (await examineContent(ctx, content))
  const raw = examined && {
    content,
    header: checkContent(ctx, examined, state, ATTRIBUTES),
    extraction: examined.extraction,
  }
  return {
    ...state,
    lineage: raw ? state.lineage || raw.header.lineage || null : state.lineage,
    force: attributes.force ?? false,
    raw,
    json,
    outputs: outputs ? readOutputs(ctx, outputs) : [],
  }
}

/** Node skips characters that are not base64; the length of what it decoded shows whether it did. */
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
    parsed = parseExact(content.toString('utf8'))
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
