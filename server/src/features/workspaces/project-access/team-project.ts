import type { Project } from '../../organizations/projects/project.ts'
import type { TeamProjectRow } from './store.ts'

/** What a team may do to a project that the actor may see. */
export type TeamProject = TeamProjectRow & { project: Project }
