import type { IdentityPhase } from '@groundstate/contract/workspace-identity'
import { SignJWT } from 'jose'
import type { Ctx } from '../../../app.ts'
import { issuerOf, type WorkloadClaim } from '../identity-keys/issuer.ts'
import { currentSigningKey } from '../identity-keys/signing.ts'

type Named = { id: string; name: string }

/** A phase of a run, with the current names. */
export type Workload = {
  organization: Named
  project: Named
  workspace: Named
  runId: string
  phase: IdentityPhase
}

/** Time by which a token is valid before it was issued, in ms: the clocks of services differ. */
const SKEW_MS = 30_000

export function subjectOf({ phase, ...workload }: Pick<Workload, 'organization' | 'project' | 'workspace' | 'phase'>) {
  return `${fullWorkspace(workload)}:run_phase:${phase}`
}

function fullWorkspace({ organization, project, workspace }: Omit<Workload, 'runId' | 'phase'>) {
  return `organization:${organization.name}:project:${project.name}:workspace:${workspace.name}`
}

/** The claims of the public documentation ("Workload identity", token specification). */
export function workloadClaims(workload: Workload) {
  const { organization, project, workspace, runId, phase } = workload
  return {
    sub: subjectOf(workload),
    terraform_organization_id: organization.id,
    terraform_organization_name: organization.name,
    terraform_project_id: project.id,
    terraform_project_name: project.name,
    terraform_workspace_id: workspace.id,
    terraform_workspace_name: workspace.name,
    terraform_full_workspace: fullWorkspace(workload),
    terraform_run_id: runId,
    terraform_run_phase: phase,
  } satisfies Record<WorkloadClaim | 'sub', string>
}

/** Time limit of a phase, in ms. */
export function timeLimit(config: Ctx['config'], phase: IdentityPhase) {
  return phase === 'plan' ? config.planTimeout : config.applyTimeout
}

type TokenCtx = Pick<Ctx, 'config' | 'baseUrl' | 'newId' | 'now'>

/** The claims of a token from now until the end of its phase's time limit. */
export function tokenClaims(ctx: TokenCtx, workload: Workload, audience: string) {
  const now = ctx.now().getTime()
  const inSeconds = (ms: number) => Math.floor(ms / 1000)
  return {
    jti: ctx.newId('jwt'),
    iss: issuerOf(ctx),
    aud: audience,
    iat: inSeconds(now),
    nbf: inSeconds(now - SKEW_MS),
    exp: inSeconds(now + timeLimit(ctx.config, workload.phase)),
    ...workloadClaims(workload),
  }
}

export function tokenHeader(keyId: string) {
  return { typ: 'JWT', alg: 'RS256', kid: keyId } as const
}

type MintCtx = TokenCtx & Pick<Ctx, 'db' | 'secrets'>

/** A token for each audience. Without audiences it reads nothing. Throws `UnreadableKeyError`. */
export async function mintTokens(ctx: MintCtx, workload: Workload, audiences: readonly string[]) {
  const distinct = [...new Set(audiences)]
  if (distinct.length === 0) return []
  const { keyId, privateKey } = await currentSigningKey(ctx)
  return Promise.all(
    distinct.map(async (audience) => {
      const claims = tokenClaims(ctx, workload, audience)
      const token = await new SignJWT(claims).setProtectedHeader(tokenHeader(keyId)).sign(privateKey)
      return { audience, token }
    }),
  )
}
