import { type Credential, readCredentials } from '@groundstate/contract/workload-identity'
import type { IdentityPhase } from '@groundstate/contract/workspace-identity'

export type Variable = { key: string; value: string; category: 'terraform' | 'env'; sensitive: boolean }

export const PHASES = ['plan', 'apply'] as const satisfies IdentityPhase[]

/**
 * The credentials that the variables of a workspace configure in each phase. Settings from sensitive variables are undefined; defaults
 * are public.
 */
export function configuredCredentials(variables: readonly Variable[]) {
  const environment = variables.filter(({ category }) => category === 'env')
  const values = new Map(environment.map(({ key, value }) => [key, value]))
  const byPhase = PHASES.map((phase) => ({ phase, ...readCredentials(values, phase) }))
  const credentials = Map.groupBy(
    byPhase.flatMap(({ phase, credentials: list }) => list.map((credential) => ({ phase, credential }))),
    ({ credential: { provider, tag, audience } }) => JSON.stringify([provider, tag, audience]),
  )
  const problems = Map.groupBy(
    byPhase.flatMap(({ phase, problems: list }) => list.map((message) => ({ phase, message }))),
    ({ message }) => message,
  )
  const phasesOf = (list: readonly { phase: IdentityPhase }[]) => [...new Set(list.map(({ phase }) => phase))]
  return {
    credentials: [...credentials.values()].flatMap((list) => {
      const [first] = list
      return first ? [{ ...shownCredential(first.credential, environment), phases: phasesOf(list) }] : []
    }),
    problems: [...problems].map(([message, list]) => ({ message, phases: phasesOf(list) })),
  }
}

export type ConfiguredCredentials = ReturnType<typeof configuredCredentials>

/** The first credential of a service. */
export function credentialOf({ credentials }: ConfiguredCredentials, provider: Credential['provider']) {
  return credentials.find((credential) => credential.provider === provider)
}

/** The settings of a credential that trust policies contain. */
function shownCredential(credential: Credential, environment: readonly Variable[]) {
  const { provider, tag, audience } = credential
  const shown = (names: readonly string[], text: string, parts = [text]) => {
    const isOf = (key: string) => names.some((name) => variableNames(credential, name).includes(key))
    const isSecret = (part: string) =>
      environment.some(({ key, value, sensitive }) => sensitive && isOf(key) && value.trim() === part)
    return parts.some(isSecret) ? undefined : text
  }
  const roleArn = provider === 'aws' ? shown(phased('ROLE_ARN'), credential.roleArn) : undefined
  const providerName = provider === 'gcp' ? shownProvider(credential.providerName) : undefined
  const resourceName = provider === 'hcp' ? shown(phased('PROVIDER_RESOURCE_NAME'), credential.resourceName) : undefined
  // The name may be composed of several variables.
  function shownProvider(name: string) {
    return shown(GCP_PROVIDER, name, [name, ...name.split('/')])
  }
  const isDefault =
    (provider === 'gcp' && audience === `//iam.googleapis.com/${credential.providerName}`) ||
    (provider === 'hcp' && audience === credential.resourceName)
  const hidesDefault = isDefault && providerName === undefined && resourceName === undefined
  return {
    provider,
    tag,
    audience: hidesDefault ? undefined : shown(['WORKLOAD_IDENTITY_AUDIENCE'], audience),
    roleArn,
    providerName,
    resourceName,
  }
}

const GCP_PROVIDER = ['WORKLOAD_PROVIDER_NAME', 'PROJECT_NUMBER', 'WORKLOAD_POOL_ID', 'WORKLOAD_PROVIDER_ID']

const phased = (name: string) => ['RUN', 'PLAN', 'APPLY'].map((phase) => `${phase}_${name}`)

/** The variables that may have a setting of a credential. */
function variableNames({ provider, tag }: Credential, name: string) {
  const suffix = tag === undefined ? '' : `_${tag}`
  if (provider === 'token') return [`TFC_${name}${suffix}`]
  const service = provider.toUpperCase()
  return [`TFC_${service}_${name}${suffix}`, `TFC_DEFAULT_${service}_${name}`]
}
