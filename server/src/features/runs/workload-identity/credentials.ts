import { type Credential, readCredentials } from '@groundstate/contract/workload-identity'
import type { IdentityPhase } from '@groundstate/contract/workspace-identity'

export type Variable = { key: string; value: string; category: 'terraform' | 'env'; sensitive: boolean }

export const PHASES = ['plan', 'apply'] as const satisfies IdentityPhase[]

/** The credentials that the variables of a workspace configure in each phase. Text that has the value of a sensitive variable is hidden. */
export function configuredCredentials(variables: readonly Variable[]) {
  const environment = variables.filter(({ category }) => category === 'env')
  const secrets = environment
    .filter(({ sensitive, value }) => sensitive && value !== '')
    .map(({ value }) => value.trim())
  const shown = (text: string) => (secrets.some((secret) => text.includes(secret)) ? undefined : text)
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
      return first ? [{ credential: first.credential, phases: phasesOf(list) }] : []
    }),
    problems: [...problems].map(([message, list]) => ({ message, phases: phasesOf(list) })),
    shown,
  }
}

export type ConfiguredCredentials = ReturnType<typeof configuredCredentials>

/** The first credential of a service. */
export function credentialOf<Provider extends Credential['provider']>(
  { credentials }: ConfiguredCredentials,
  provider: Provider,
) {
  const isOf = (credential: Credential): credential is Extract<Credential, { provider: Provider }> =>
    credential.provider === provider
  return credentials.map(({ credential }) => credential).find(isOf)
}
