import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { listReadableProjects, requireProject } from './access.ts'
import type { CountedProject, Project } from './project.ts'
import * as store from './store.ts'

/** Throws `not-found` when the actor may not see the project. */
export async function showProject(ctx: Ctx, id: string): Promise<CountedProject> {
  const [project] = await withCounts(ctx, [await requireProject(ctx, id, 'project:read')])
  if (!project) throw notFound('project')
  return project
}

/** Those of the projects that the actor may see, for includes. */
export async function showProjects(ctx: Ctx, ids: readonly string[]): Promise<CountedProject[]> {
  return withCounts(ctx, await listReadableProjects(ctx, ids))
}

/** Adds the counts; leaves out a project that was deleted meanwhile. */
export async function withCounts(ctx: Ctx, projects: readonly Project[]): Promise<CountedProject[]> {
  if (projects.length === 0) return []
  const rows = await store.countInProjects(
    ctx.db,
    projects.map(({ id }) => id),
  )
  const counts = new Map(rows.map(({ id, ...found }) => [id, found]))
  return projects.flatMap((project) => {
    const found = counts.get(project.id)
    return found ? { ...project, ...found } : []
  })
}
