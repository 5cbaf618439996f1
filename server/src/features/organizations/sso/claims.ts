/** Claims about a user, named as in OpenID Connect. */
export type Claims = Readonly<Record<string, unknown>>

/** The address if the provider has verified it; only then may it be matched with an account. */
export function verifiedEmail(claims: Claims): string | undefined {
  const { email, email_verified: verified, xms_edov: verifiedByEntra } = claims
  // Entra has its own claim instead of email_verified. Some providers write booleans as strings.
  const isVerified = [verified, verifiedByEntra].some(
    (value) => value === true || value === 'true' || value === 1 || value === '1',
  )
  if (typeof email !== 'string' || !isVerified || !/^[^@\s]+@[^@\s]+$/.test(email)) return undefined
  // Default address of the first administrator, which receives no mail.
  return email.toLowerCase().endsWith('@localhost.localdomain') ? undefined : email
}

/** A username derived from the claims; it may be taken. */
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
      // Reserved for service accounts.
      .replace(/^(api-)+/i, '')
      .slice(0, 50)
    if (username !== '') return username
  }
  return 'user'
}

/** The groups in a top-level or nested claim (`realm_access.roles`); undefined for distributed claims. Users without groups have no claim. */
export function groupsOf(claims: Claims, name: string): string[] | undefined {
  // Entra omits more than 200 groups, and lists the claim here instead.
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
