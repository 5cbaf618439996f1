import type { Ctx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'

type Place = { id: string; workspace_id: string; organization_id: string }

/** Notifies open pages of state versions that no audit event is about, and of their workspaces, which show the current one. */
export function announceVersions(ctx: Ctx, versions: readonly Place[]) {
  for (const { id, workspace_id: workspace, organization_id: organization } of versions) {
    announce(
      ctx,
      { organization, type: 'state-versions', id, workspace },
      { organization, type: 'workspaces', id: workspace, workspace },
    )
  }
}
