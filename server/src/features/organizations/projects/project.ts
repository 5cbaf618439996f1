import type { AccessContext } from '../../../auth/access-context.ts'
import type { ProjectPermission } from '../../../auth/permissions.ts'
import type * as store from './store.ts'

export type FoundProject = NonNullable<Awaited<ReturnType<typeof store.findProject>>>

/** A project that the actor may see, with what it may do there. */
export type Project = Omit<FoundProject, 'access'> & { can: ReadonlySet<ProjectPermission>; access: AccessContext }

/** A project as a response shows it. */
export type CountedProject = Project & { workspace_count: number; team_count: number }
