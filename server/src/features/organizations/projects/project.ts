import type { Facts } from '../../../auth/facts.ts'
import type { ProjectPermission } from '../../../auth/permissions.ts'
import type * as store from './store.ts'

export type FoundProject = NonNullable<Awaited<ReturnType<typeof store.findProject>>>

/** A project that the actor may see, with what it may do there. */
export type Project = Omit<FoundProject, 'facts'> & { can: ReadonlySet<ProjectPermission>; facts: Facts }

/** A project as an answer shows it. */
export type CountedProject = Project & { workspace_count: number; team_count: number }
