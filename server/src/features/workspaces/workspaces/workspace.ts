import type { AccessContext } from '../../../auth/access-context.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import type { findWorkspace } from './store.ts'

export type FoundWorkspace = NonNullable<Awaited<ReturnType<typeof findWorkspace>>>

/** A workspace that the actor may see, with what it may do there. */
export type Workspace = Omit<FoundWorkspace, 'access'> & {
  can: ReadonlySet<WorkspacePermission>
  access: AccessContext
}
