import { z } from 'zod'
import { AUDIENCE_TEXT, type IdentityPhase, MAX_AUDIENCE } from './workspace-identity.ts'

/**
 * Workload identity: a run proves to other systems who it is with a token that the server signs. Environment variables of the workspace enable
 * it, as in HashiCorp's public documentation of dynamic provider credentials. The server reads them to learn the audiences of the tokens, the
 * agent to write what providers read.
 */

/** A signed token for one audience. */
export const identityToken = z.object({ audience: z.string(), token: z.string() })
export type IdentityToken = z.infer<typeof identityToken>

/** Settings by which a provider exchanges a token for credentials. */
type Exchange =
  | { provider: 'aws'; roleArn: string }
  /** `providerName` is `projects/…/providers/…`; without a service account the run acts as a principal of the pool. */
  | { provider: 'gcp'; providerName: string; serviceAccountEmail: string | undefined }
  | { provider: 'azure'; clientId: string }
  | {
      provider: 'vault'
      /** Without a slash at its end. */
      address: string
      role: string
      namespace: string | undefined
      authPath: string
      /** PEM. */
      caCertificate: string | undefined
      timeoutMs: number
    }
  | { provider: 'kubernetes' }
  | { provider: 'hcp'; resourceName: string }
  /** The token itself, for hooks and other providers. */
  | { provider: 'token' }

/** `tag` is undefined for the default configuration of a provider; a tag is for one of its aliases. */
export type Credential = Exchange & { tag: string | undefined; audience: string }
/** Problems are sentences about variables, without their values, which may be sensitive. */
export type Credentials = { credentials: Credential[]; problems: string[] }

type Environment = ReadonlyMap<string, string>

/** Variables of one configuration of a provider. */
type Settings = {
  get: (name: string) => string | undefined
  /** The configuration's value for the phase or for the run, otherwise a default for one of them; a missing one is a problem. */
  forPhase: (name: string) => string | undefined
  /** Always returns undefined. */
  problem: (name: string, text: string) => undefined
}

/** Returns the settings and the default audience; undefined if a variable is missing or malformed. */
type Reader = (settings: Settings) => { exchange: Exchange; audience: string } | undefined

/** Documented as reserved, since other variables end with it. */
const RESERVED_TAG = 'TYPE'
/** Tags become parts of file names. */
const MAX_TAG_CHARACTERS = 100
/** The server signs a token for each audience of a phase. */
const MAX_AUDIENCES = 50

/**
 * Reads the configurations that a workspace's environment variables enable. Each variable exists as `TFC_AWS_…`, with a tag as `TFC_AWS_…_TAG`, and
 * as `TFC_DEFAULT_AWS_…` for configurations without a value. An incomplete configuration yields problems instead of a credential.
 */
export function readCredentials(environment: Environment, phase: IdentityPhase): Credentials {
  const problems: string[] = []
  const credentials: Credential[] = []
  for (const [provider, read] of Object.entries(READERS)) {
    for (const tag of tagsOf(environment, provider, problems)) {
      const before = problems.length
      const settings = settingsOf(environment, { provider, tag, phase, problems })
      const result = read(settings)
      if (result === undefined || problems.length > before) continue
      const audience = settings.get('WORKLOAD_IDENTITY_AUDIENCE') ?? result.audience
      const problem = audienceProblem(audience)
      if (problem === undefined) credentials.push({ ...result.exchange, tag, audience })
      else settings.problem('WORKLOAD_IDENTITY_AUDIENCE', problem)
    }
  }
  for (const [name, value] of environment) {
    if (/^TFC_(?:VAULT|HVS)_BACKED_\w+_AUTH$/.test(name) && /^true$/i.test(value))
      problems.push(`${name} is not supported: use the identity federation of the cloud itself`)
  }
  return { credentials: limited([...credentials, ...tokensOf(environment, problems)], problems), problems }
}

/** Omits the credentials whose audiences are beyond the limit. */
function limited(credentials: readonly Credential[], problems: string[]): Credential[] {
  const audiences = [...new Set(credentials.map(({ audience }) => audience))]
  if (audiences.length > MAX_AUDIENCES)
    problems.push(
      `the variables have ${audiences.length} different audiences in a phase: ${MAX_AUDIENCES} are possible`,
    )
  const possible = new Set(audiences.slice(0, MAX_AUDIENCES))
  return credentials.filter(({ audience }) => possible.has(audience))
}

/** By the provider's name in variables. */
const READERS: Record<string, Reader> = {
  AWS({ forPhase, problem }) {
    const roleArn = forPhase('ROLE_ARN')
    if (roleArn === undefined) return undefined
    if (!/^arn:[\w-]+:iam::\d{12}:role\/[\w+=,.@/-]+$/.test(roleArn))
      return problem('ROLE_ARN', 'is not the ARN of a role, such as arn:aws:iam::123456789012:role/terraform')
    return { exchange: { provider: 'aws', roleArn }, audience: 'aws.workload.identity' }
  },
  GCP({ get, forPhase, problem }) {
    const type = get('PRINCIPAL_TYPE') ?? 'service_account'
    if (type !== 'service_account' && type !== 'workload_pool')
      return problem('PRINCIPAL_TYPE', 'must be service_account or workload_pool')
    const serviceAccountEmail = type === 'service_account' ? forPhase('SERVICE_ACCOUNT_EMAIL') : undefined
    if (serviceAccountEmail !== undefined && !/^[^@\s/]+@[^@\s/]+$/.test(serviceAccountEmail))
      problem('SERVICE_ACCOUNT_EMAIL', 'is not the e-mail address of a service account')
    const parts = [get('PROJECT_NUMBER'), get('WORKLOAD_POOL_ID'), get('WORKLOAD_PROVIDER_ID')]
    const [project, pool, id] = parts
    const composed = `projects/${project}/locations/global/workloadIdentityPools/${pool}/providers/${id}`
    const providerName = get('WORKLOAD_PROVIDER_NAME') ?? (parts.includes(undefined) ? undefined : composed)
    if (providerName === undefined)
      return problem('WORKLOAD_PROVIDER_NAME', 'is missing: set it, or the project number, pool ID and provider ID')
    if (
      !/^projects\/\d+\/locations\/global\/workloadIdentityPools\/[\w-]{1,200}\/providers\/[\w-]{1,200}$/.test(
        providerName,
      )
    ) {
      const form = 'projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER'
      return problem('WORKLOAD_PROVIDER_NAME', `must have the form ${form}`)
    }
    const exchange = { provider: 'gcp', providerName, serviceAccountEmail } as const
    return { exchange, audience: `//iam.googleapis.com/${providerName}` }
  },
  AZURE({ forPhase, problem }) {
    const clientId = forPhase('CLIENT_ID')
    if (clientId === undefined) return undefined
    if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(clientId))
      return problem('CLIENT_ID', 'must be a UUID such as 00000000-0000-0000-0000-000000000000')
    return { exchange: { provider: 'azure', clientId }, audience: 'api://AzureADTokenExchange' }
  },
  VAULT({ get, forPhase, problem }) {
    const address = get('ADDR')?.replace(/\/+$/, '')
    const role = forPhase('ROLE')
    const authPath = (get('AUTH_PATH') ?? 'jwt').replaceAll(/^\/+|\/+$/g, '')
    const caCertificate = pemOf(get('ENCODED_CACERT'))
    const timeout = get('CLIENT_TIMEOUT') ?? '60'
    if (caCertificate === null) problem('ENCODED_CACERT', 'must be a PEM certificate in Base64')
    if (!/^[1-9]\d{0,3}$/.test(timeout)) problem('CLIENT_TIMEOUT', 'must be a number of seconds from 1 to 9999')
    if (!isPath(authPath)) problem('AUTH_PATH', 'must be the path of an auth method, such as jwt')
    if (address === undefined) return problem('ADDR', 'is missing: set it to the address of Vault')
    if (!/^https?:\/\/[^/?#@\s]+(?:\/[^?#\s]*)?$/.test(address) || !URL.canParse(address))
      return problem('ADDR', 'must be a URL such as https://vault.example.com:8200')
    if (role === undefined || caCertificate === null) return undefined
    const limits = { timeoutMs: Number(timeout) * 1000 }
    const namespace = get('NAMESPACE')
    const exchange = { provider: 'vault', address, role, namespace, authPath, caCertificate, ...limits } as const
    return { exchange, audience: 'vault.workload.identity' }
  },
  KUBERNETES: () => ({ exchange: { provider: 'kubernetes' }, audience: 'kubernetes' }),
  HCP({ forPhase, problem }) {
    const resourceName = forPhase('PROVIDER_RESOURCE_NAME')
    if (resourceName === undefined) return undefined
    const form = /^iam\/(?:project|organization)\/[^/]+\/service-principal\/[^/]+\/workload-identity-provider\/[^/]+$/
    if (!isPath(resourceName) || !form.test(resourceName)) {
      const example = 'iam/project/ID/service-principal/NAME/workload-identity-provider/NAME'
      return problem('PROVIDER_RESOURCE_NAME', `must have the form ${example}`)
    }
    return { exchange: { provider: 'hcp', resourceName }, audience: resourceName }
  },
}

/** Whether its segments are names that neither an URL nor a shell interprets. */
function isPath(text: string) {
  return text.split('/').every((segment) => /^[\w.-]{1,200}$/.test(segment) && segment !== '.' && segment !== '..')
}

/** The tags of the configurations of a provider that are enabled. */
function tagsOf(environment: Environment, provider: string, problems: string[]) {
  return taggedVariables(environment, `TFC_${provider}_PROVIDER_AUTH`, problems).flatMap(({ name, tag, value }) => {
    if (/^true$/i.test(value)) return [tag]
    if (!/^false$/i.test(value)) problems.push(`${name} must be true, or false to disable it`)
    return []
  })
}

/** The variables with this name, and those with a tag after it, that have a value. */
function taggedVariables(environment: Environment, base: string, problems: string[]) {
  return [...environment].flatMap(([name, text]) => {
    const value = text.trim()
    if ((name !== base && !name.startsWith(`${base}_`)) || value === '') return []
    const tag = name === base ? undefined : name.slice(base.length + 1)
    const problem = tag === undefined ? undefined : tagProblem(tag)
    if (problem === undefined) return [{ name, tag, value }]
    problems.push(`${name} ${problem}`)
    return []
  })
}

function tagProblem(tag: string): string | undefined {
  if (!/^\w+$/.test(tag)) return 'has a tag with other characters than letters, digits and underscores'
  if (tag.length > MAX_TAG_CHARACTERS) return `has a tag of more than ${MAX_TAG_CHARACTERS} characters`
  return tag === RESERVED_TAG ? `has the reserved tag ${RESERVED_TAG}: choose another one` : undefined
}

type Configuration = { provider: string; tag: string | undefined; phase: IdentityPhase; problems: string[] }

function settingsOf(environment: Environment, { provider, tag, phase, problems }: Configuration): Settings {
  const nameOf = (name: string) => `TFC_${provider}_${name}${tag === undefined ? '' : `_${tag}`}`
  const defaultOf = (name: string) => `TFC_DEFAULT_${provider}_${name}`
  const used = new Map<string, string>()
  // The public documentation gives explicit values precedence over defaults: a role for the run precedes the default one for its phase.
  const read = (name: string, forms = [name]) => {
    const candidates = [...forms.map(nameOf), ...forms.map(defaultOf)]
    const found = candidates.find((candidate) => (environment.get(candidate)?.trim() ?? '') !== '')
    if (found !== undefined) used.set(name, found)
    return found === undefined ? undefined : environment.get(found)?.trim()
  }
  return {
    get: (name) => read(name),
    forPhase(name) {
      const forms = [`${phase.toUpperCase()}_${name}`, `RUN_${name}`]
      const value = read(name, forms)
      if (value === undefined)
        problems.push(`${nameOf('PROVIDER_AUTH')} is true, but ${forms.map(nameOf).join(' or ')} is missing`)
      return value
    },
    problem(name, text) {
      problems.push(`${used.get(name) ?? nameOf(name)} ${text}`)
      return undefined
    },
  }
}

function tokensOf(environment: Environment, problems: string[]): Credential[] {
  const variables = taggedVariables(environment, 'TFC_WORKLOAD_IDENTITY_AUDIENCE', problems)
  return variables.flatMap(({ name, tag, value }): Credential[] => {
    const problem = audienceProblem(value)
    if (problem === undefined) return [{ provider: 'token', tag, audience: value }]
    problems.push(`${name} ${problem}`)
    return []
  })
}

function audienceProblem(audience: string): string | undefined {
  if (audience.length > MAX_AUDIENCE) return `must have at most ${MAX_AUDIENCE} characters`
  return AUDIENCE_TEXT.test(audience) ? undefined : 'must have no control characters'
}

/** Null if it is not the Base64 of a PEM certificate. */
function pemOf(encoded: string | undefined): string | null | undefined {
  if (encoded === undefined) return undefined
  try {
    const pem = atob(encoded.replaceAll(/\s/g, ''))
    return /-----BEGIN CERTIFICATE-----[^]+-----END CERTIFICATE-----/.test(pem) ? pem : null
  } catch {
    return null
  }
}
