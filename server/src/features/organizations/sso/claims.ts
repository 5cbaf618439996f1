/** Claims of a provider about a user, named as in OpenID Connect. */
export type Claims = Readonly<Record<string, unknown>>

/** The address if the provider has verified it. Only then may it be matched with an account. */
export function verifiedEmail(claims: Claims): string | undefined {
  const { email, email_verified: verified, xms_edov: verifiedByEntra } = claims
  // Entra has no email_verified; it has a separate claim for that. Some providers write booleans as text.
  const isVerified = [verified, verifiedByEntra].some(
    (value) => value === true || value === 'true' || value === 1 || value === '1',
  )
  if (typeof email !== 'string' || !isVerified || !/^[^@\s]+@[^@\s]+$/.test(email)) return undefined
  // The first administrator has such an address unless a setting gives another one. No one receives mail there.
  return email.toLowerCase().endsWith('@localhost.localdomain') ? undefined : email
}

/** A username derived from the provider's claims; it may be taken. */
export function usernameOf(claims: Claims): string {
  for (const name of ['preferred_username', 'email', 'nickname', 'name']) {
    const value = claims[name]
    if (typeof value !== 'string') continue
    const username = value
      .replace(/@.*/, '')
      .normalize('NFKD')
      .replaceAll(/\p{M}/gu, '')
      .replaceAll(/[^\w.-]+/g, '-')
      .replace(/^[-.]+|[-.]+$/g, '')
      // These names are those of service accounts.
      .replace(/^(api-)+/i, '')
      .slice(0, 50)
    if (username !== '') return username
  }
  return 'user'
}

/**
 * The groups of the claim of that name, at the top or inside other claims (`realm_access.roles`); undefined when the
 * provider marks them as distributed. Providers omit the claim for users in no group.
 */
export function groupsOf(claims: Claims, name: string): string[] | undefined {
  // Entra leaves out more than 200 groups, and names the claim here instead.
  if (isObject(claims['_claim_names']) && name in claims['_claim_names']) return undefined
  const value = name in claims ? claims[name] : name.split('.').reduce<unknown>(property, claims)
  return [value ?? []].flat().filter((group) => typeof group === 'string' && group !== '') as string[]
}

function property(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
