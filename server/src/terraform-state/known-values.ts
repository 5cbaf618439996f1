import { createHmac } from 'node:crypto'
import { type SensitiveTexts, sensitiveTexts } from '@groundstate/contract/sensitive-values'
import { shortened } from './attribute-diff.ts'

/** The values that a workspace marks sensitive, in a form that a worker can receive. */
export type KnownValues = { texts: ReadonlySet<string>; former?: FormerValues }

/** Digests of replaced values by the length of the text, and the key that they were computed with. */
type FormerValues = { key: string; digests: ReadonlyMap<number, ReadonlySet<string>> }

export type TextDigest = { length: number; digest: string }

type Signer = { digest: (payload: string, purpose: string) => string }

/** The key of an organization's digests. */
export function formerValueKey(secrets: Signer, organizationId: string) {
  return secrets.digest(organizationId, 'former-sensitive-values')
}

/** Digests of the texts, and of their beginnings as a diff shows them. */
export function digestsOf(texts: readonly string[], key: string): TextDigest[] {
  const shown = new Set(texts.flatMap((text) => [text, String(shortened(text))]))
  return [...shown].map((text) => ({ length: text.length, digest: digest(text, key) }))
}

function digest(text: string, key: string) {
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** Undefined if there are none. */
export function knownValues(
  variables: readonly { value: string; hcl: boolean }[],
  { key, digests }: { key: string; digests: readonly TextDigest[] },
): KnownValues | undefined {
  const texts = sensitiveTexts(variables)
  if (digests.length === 0) return texts.size === 0 ? undefined : { texts }
  const byLength = Map.groupBy(digests, ({ length }) => length)
  const sets = [...byLength].map(([length, own]) => [length, new Set(own.map((one) => one.digest))] as const)
  return { texts, former: { key, digests: new Map(sets) } }
}

/** Recognises the values. Only a text with the length of a former value has its digest computed, which takes 2 us, and only once. */
export function recognised({ texts, former }: KnownValues): SensitiveTexts {
  if (!former) return texts
  const { key, digests } = former
  const known = new Map<string, boolean>()
  const isFormer = (text: string) => {
    const candidates = digests.get(text.length)
    if (!candidates) return false
    const found = known.get(text) ?? candidates.has(digest(text, key))
    known.set(text, found)
    return found
  }
  return { size: texts.size + digests.size, has: (text) => texts.has(text) || isFormer(text) }
}
