import type { Project } from '../../organizations/projects/project.ts'

/** The audit event of a change of what a team may do to the project. */
export function projectAccessAudit(project: Project, action: string, meta: Record<string, string>) {
  return {
    organizationId: project.organization_id,
    action,
    resource: { type: 'project', id: project.id },
    meta,
  }
}
