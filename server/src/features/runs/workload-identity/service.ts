import type { PreviewIdentityToken } from '@groundstate/contract/workspace-identity'
import ipaddr from 'ipaddr.js'
import type { Ctx } from '../../../app.ts'
import { isLoopbackHost } from '../../../config.ts'
import { conflict, invalid } from '../../../errors.ts'
import { unbracketed } from '../../../outbound/addresses.ts'
import { listRunVariables } from '../../workspaces/variable-sets/effective-variables.ts'
import { requireWorkspace, type Workspace } from '../../workspaces/workspaces/access.ts'
import { isExternalIssuer, issuerOf } from '../identity-keys/issuer.ts'
import { currentSigningKey, unreadableReason } from '../identity-keys/signing.ts'
import { configuredCredentials } from './credentials.ts'
import type { WorkspaceIdentity } from './resource.ts'
import { subjectOf, tokenClaims, tokenHeader, type Workload } from './token.ts'

/** In place of the id of a run, which is only known when there is one. */
const EXAMPLE_RUN = 'run-0000000000000000'

/** The identity that the next run of the workspace would have. Throws `conflict` if a sensitive variable cannot be decrypted. */
export async function readWorkloadIdentity(ctx: Ctx, workspaceId: string): Promise<WorkspaceIdentity> {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:read')
  const configured = await readCredentialsOf(ctx, workspace)
  const issuer = issuerOf(ctx)
  const audience = configured.credentials[0]?.audience ?? 'AUDIENCE'
  const [plan, apply] = [workloadOf(workspace, 'plan'), workloadOf(workspace, 'apply')]
  return {
    workspace,
    configured,
    issuer,
    isExternal: isExternalIssuer(ctx.config),
    issuerProblem: issuerProblem(issuer),
    subjects: { plan: subjectOf(plan), apply: subjectOf(apply) },
    claims: { plan: tokenClaims(ctx, plan, audience), apply: tokenClaims(ctx, apply, audience) },
  }
}

/** The header and claims that a token would have now; without a signature. Throws `conflict` if the key, or a sensitive variable, cannot be decrypted. */
export async function previewIdentityToken(ctx: Ctx, workspaceId: string, { audience, phase }: PreviewIdentityToken) {
  const workspace = await requireWorkspace(ctx, workspaceId, 'variables:read')
  const { keyId } = await readable(currentSigningKey(ctx))
  const claims = tokenClaims(ctx, workloadOf(workspace, phase), audience ?? (await configuredAudience(ctx, workspace)))
  return { workspace, header: tokenHeader(keyId), claims }
}

async function configuredAudience(ctx: Ctx, workspace: Workspace) {
  const { credentials } = await readCredentialsOf(ctx, workspace)
  const audience = credentials.flatMap((credential) => credential.audience ?? [])[0]
  if (audience !== undefined) return audience
  const why =
    credentials.length === 0
      ? 'the variables of the workspace configure no credentials'
      : 'a sensitive variable sets it'
  throw invalid(`audience is missing: name it, since ${why}`, '/data/attributes/audience')
}

async function readCredentialsOf(ctx: Ctx, workspace: Workspace) {
  const { id: workspaceId, project_id: projectId, organization_id: organizationId } = workspace
  return configuredCredentials(await readable(listRunVariables(ctx, { workspaceId, projectId, organizationId })))
}

/** A run would fail for the same reason. */
async function readable<T>(reading: Promise<T>): Promise<T> {
  return reading.catch((error: unknown) => {
    const reason = unreadableReason(error)
    throw reason === undefined ? error : conflict(reason)
  })
}

function workloadOf(workspace: Workspace, phase: Workload['phase']): Workload {
  return {
    organization: { id: workspace.organization_id, name: workspace.organization_name },
    project: { id: workspace.project_id, name: workspace.project_name },
    workspace: { id: workspace.id, name: workspace.name },
    runId: EXAMPLE_RUN,
    phase,
  }
}

const ADVICE = 'set GROUNDSTATE_ISSUER_URL to a public https address and export the documents there'

/** Why services on the internet cannot read the documents of the issuer, as far as its address shows. */
function issuerProblem(issuer: string) {
  const { protocol, hostname } = new URL(issuer)
  const host = unbracketed(hostname)
  const isPrivate = isLoopbackHost(host) || (ipaddr.isValid(host) && ipaddr.process(host).range() !== 'unicast')
  if (isPrivate || /^[^.:]+$|\.(?:local|internal|localdomain|lan|home\.arpa)$/.test(host))
    return `${host} is a private address, which no cloud can reach: ${ADVICE}`
  return protocol === 'https:' ? null : `${issuer} is not an https address, which clouds require: ${ADVICE}`
}
