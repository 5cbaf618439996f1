import type {
  IdentityPhase,
  IdentityTokenPreviewResource,
  WorkloadIdentityResource,
} from '@groundstate/contract/workspace-identity'
import type { Workspace } from '../../workspaces/workspaces/access.ts'
import { CONFIGURATION_PATH, KEYS_PATH, WORKLOAD_CLAIMS } from '../identity-keys/issuer.ts'
import { type ConfiguredCredentials, credentialOf, PHASES } from './credentials.ts'
import type { tokenClaims, tokenHeader } from './token.ts'
import { trustPolicies } from './trust-policies.ts'

const CLAIMS = {
  jti: 'id of the token',
  iss: 'issuer',
  aud: 'audience: the service for which the token is',
  iat: 'time of issue',
  nbf: 'time from which it is valid, which tolerates clocks that differ',
  exp: "end of the phase's time limit",
  sub: 'subject, which policies should require',
  ...WORKLOAD_CLAIMS,
} as const

type Claims = ReturnType<typeof tokenClaims>

export type WorkspaceIdentity = {
  workspace: Workspace
  configured: ConfiguredCredentials
  issuer: string
  isExternal: boolean
  issuerProblem: string | null
  subjects: Record<IdentityPhase, string>
  claims: Record<IdentityPhase, Claims>
}

export function workloadIdentityResource(identity: WorkspaceIdentity): WorkloadIdentityResource {
  const { workspace, configured, issuer, subjects, claims } = identity
  const names = Object.keys(CLAIMS) as (keyof typeof CLAIMS)[]
  return {
    id: workspace.id,
    type: 'workload-identities',
    attributes: {
      issuer,
      'issuer-is-external': identity.isExternal,
      'issuer-problem': identity.issuerProblem,
      'openid-configuration-url': `${issuer}${CONFIGURATION_PATH}`,
      'jwks-url': `${issuer}${KEYS_PATH}`,
      subjects,
      claims: names.map((name) => ({
        name,
        description: CLAIMS[name],
        plan: shownClaim(claims.plan, name),
        apply: shownClaim(claims.apply, name),
      })),
      credentials: configured.credentials.map(({ provider, tag, audience, phases }) => ({
        provider,
        tag: tag ?? null,
        audience: audience ?? null,
        phases,
      })),
      problems: configured.problems,
      'trust-policies': trustPolicies(trustOf(identity)),
    },
    relationships: { workspace: { data: { id: workspace.id, type: 'workspaces' } } },
    links: { self: `/api/v2/workspaces/${workspace.id}/workload-identity` },
  }
}

/** Claims that differ from token to token are shown by their rule, so that the document does not change with each request. */
function shownClaim(claims: Claims, name: keyof Claims) {
  const { iat, nbf, exp } = claims
  const rules = { jti: 'jwt-0000000000000000', iat: 'now', nbf: `iat - ${iat - nbf}`, exp: `iat + ${exp - iat}` }
  return name in rules ? rules[name as keyof typeof rules] : String(claims[name])
}

/** Limits of Google Cloud and Azure. */
const LONG_S = 24 * 3600

function trustOf({ workspace, configured, issuer, subjects, claims }: WorkspaceIdentity) {
  const { roleArn = '' } = credentialOf(configured, 'aws') ?? {}
  const { providerName = '' } = credentialOf(configured, 'gcp') ?? {}
  const { resourceName = '' } = credentialOf(configured, 'hcp') ?? {}
  const [, projectNumber, pool, provider] =
    /^projects\/(\d+)\/.*\/([^/]+)\/providers\/([^/]+)$/.exec(providerName) ?? []
  return {
    issuer,
    subjects,
    organization: { id: workspace.organization_id, name: workspace.organization_name },
    workspace: { id: workspace.id, name: workspace.name },
    audienceOf: (of: Parameters<typeof credentialOf>[1]) => {
      const credential = credentialOf(configured, of)
      return credential && (credential.audience ?? 'AUDIENCE')
    },
    awsAccount: /:(\d{12}):/.exec(roleArn)?.[1],
    gcp:
      projectNumber !== undefined && pool !== undefined && provider !== undefined
        ? { projectNumber, pool, provider }
        : undefined,
    hcpPrincipal: /^(.*)\/workload-identity-provider\//.exec(resourceName)?.[1],
    longLimits: PHASES.filter((phase) => claims[phase].exp - claims[phase].iat > LONG_S).map(
      (phase) => `GROUNDSTATE_${phase.toUpperCase()}_TIMEOUT`,
    ),
  }
}

type Preview = { workspace: Workspace; header: ReturnType<typeof tokenHeader>; claims: Claims }

export function identityTokenPreviewResource({ workspace, header, claims }: Preview): IdentityTokenPreviewResource {
  return {
    id: claims.jti,
    type: 'identity-token-previews',
    attributes: { header, claims },
    relationships: { workspace: { data: { id: workspace.id, type: 'workspaces' } } },
  }
}
