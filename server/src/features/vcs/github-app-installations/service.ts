import type { GithubAppInstallationResource } from '@groundstate/contract/oauth-clients'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import type { OrganizationPermission } from '../../../auth/permissions.ts'
import type { Page } from '../../../db/db.ts'
import {
  listReadableOrganizations,
  requireOrganization,
  requirePart,
} from '../../organizations/organizations/access.ts'
import * as store from './store.ts'

/** Throws `not-found` for an installation that the actor may not see, `forbidden` without the permission. */
export async function requireInstallation(ctx: Ctx, id: string, permission: OrganizationPermission) {
  const access = { noun: 'GitHub App installation', read: 'vcs-settings:read', permission } as const
  return requirePart(ctx, await store.findInstallation(ctx.db, id), access)
}

/** Installations that are linked to organizations of the actor. */
export async function listOwnInstallations(ctx: Ctx, { page, ...filter }: store.InstallationFilter & { page: Page }) {
  const organizations = await listReadableOrganizations(ctx, await store.listLinkingOrganizations(ctx.db))
  const organizationIds = organizations.flatMap(({ id, can }) => (can.has('vcs-settings:read') ? id : []))
  return store.listInstallations(ctx.db, { organizationIds, filter, page })
}

export async function listOrganizationInstallations(ctx: Ctx, organizationName: string, page: Page) {
  const { id } = await requireOrganization(ctx, organizationName, 'vcs-settings:read')
  return store.listInstallations(ctx.db, { organizationIds: [id], page })
}

type NewInstallation = Pick<
  store.InstallationRow,
  'installation_id' | 'name' | 'icon_url' | 'installation_type' | 'installation_url'
> &
  Pick<store.InstallationRow, 'service_provider' | 'http_url' | 'api_url'>

/** Links an installation to an organization; the caller has verified that the person may use it. Returns its id. */
export async function linkInstallation(ctx: Ctx, organizationId: string, installation: NewInstallation) {
  return audited(
    ctx,
    (id: string) => installationAudit({ id, organization_id: organizationId, name: installation.name }, 'link'),
    async (ctx) =>
      store.putInstallation(ctx.db, {
        id: ctx.newId('ghain'),
        organization_id: organizationId,
        installation_id: installation.installation_id,
        name: installation.name,
        icon_url: installation.icon_url,
        installation_type: installation.installation_type,
        installation_url: installation.installation_url,
        service_provider: installation.service_provider,
        http_url: installation.http_url,
        api_url: installation.api_url,
        created_at: ctx.now(),
      }),
  )
}

/** Links an installation of another organization, whose connections the actor manages, too. */
export async function linkToOrganization(ctx: Ctx, organizationName: string, id: string) {
  const organization = await requireOrganization(ctx, organizationName, 'vcs-settings:manage')
  const installation = await requireInstallation(ctx, id, 'vcs-settings:manage')
  await linkInstallation(ctx, organization.id, installation)
}

/** Workspaces keep their configuration and lose the repository. The app stays installed on GitHub. */
export async function unlinkInstallation(ctx: Ctx, id: string) {
  const installation = await requireInstallation(ctx, id, 'vcs-settings:manage')
  await audited(ctx, installationAudit(installation, 'unlink'), async (ctx) => store.deleteInstallation(ctx.db, id))
}

type Audited = Pick<store.InstallationRow, 'id' | 'organization_id' | 'name'>

function installationAudit({ id, organization_id: organizationId, name }: Audited, action: string): AuditEvent {
  const notices = [{ type: 'github-app-installations' as const, id }]
  return { organizationId, action, resource: { type: 'github_app_installation', id }, meta: { name }, notices }
}

export function installationResource(row: store.InstallationRow): GithubAppInstallationResource {
  return {
    id: row.id,
    type: 'github-app-installations',
    attributes: {
      name: row.name,
      'installation-id': row.installation_id,
      'icon-url': row.icon_url,
      'installation-type': row.installation_type,
      'installation-url': row.installation_url,
      'status-message': row.failure,
    },
  }
}
