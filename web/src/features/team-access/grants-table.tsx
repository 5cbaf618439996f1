import { Pencil, Trash2 } from 'lucide-react'
import { type ReactNode } from 'react'
import { Card } from '../../components/card.tsx'
import { loaded } from '../../components/feedback.tsx'
import { useRowForm } from '../../components/inline-form.tsx'
import { TargetLink, WorkspaceLink } from '../../components/links.tsx'
import { Pager } from '../../components/pager.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { Badge } from '../../components/status.tsx'
import { ProjectAccessForm, WorkspaceAccessForm } from './access-forms.tsx'
import { LEVELS, PROJECT_LEVELS, accessText, projectAccessText } from './access-text.ts'
import { removeGrant, useSaveGrant } from './grants.ts'
import { type GrantHolder, type TeamGrant, useTeamGrants } from './team-grants.ts'
import { TeamLink } from './team-link.tsx'

type GrantsTableProps = {
  organization: string
  kind: 'workspace' | 'project'
  holder: GrantHolder
  search: { q?: string | undefined; page?: number | undefined }
  onPage: (page: number) => void
  title: string
  about?: string
  none: string
  actions?: ReactNode
  /** A form above the list. */
  children?: ReactNode
}

/** Access to single projects or workspaces: of a team, with actions, or of a member, with the teams that grant it. */
export function GrantsTable({ organization, kind, holder, search, onPage, none, ...card }: GrantsTableProps) {
  const { data, fallback } = loaded(useTeamGrants(organization, { kind, holder, ...search }), { rows: 3 })
  return (
    <Card title={card.title} about={card.about} actions={card.actions} isFlush>
      {card.children}
      {!data && <div className="px-4 pb-4">{fallback}</div>}
      {data?.data.length === 0 && (
        <p className="px-4 pb-4 text-dim">{search.q === undefined ? none : `No ${kind} matches.`}</p>
      )}
      {data && data.data.length > 0 && (
        <ul className="divide-y divide-line border-t border-line">
          {data.data.map((grant) => (
            <GrantRow key={grant.id} organization={organization} grant={grant} isOfTeam={'teamId' in holder} />
          ))}
        </ul>
      )}
      <div className="px-4 pb-3 empty:hidden">
        <Pager pagination={data?.meta.pagination} onPage={onPage} />
      </div>
    </Card>
  )
}

type GrantRowProps = { organization: string; grant: TeamGrant; isOfTeam: boolean }

function GrantRow({ organization, grant, isOfTeam }: GrantRowProps) {
  const { isOpen, open, close, place } = useRowForm()
  const { id, team, subject, access } = grant
  const kind = 'workspace' in access ? 'workspace' : 'project'
  const save = useSaveGrant({ kind, ...subject })
  const [level, text] =
    'workspace' in access
      ? [LEVELS[access.workspace.access].text, accessText(access.workspace)]
      : [PROJECT_LEVELS[access.project.access].text, projectAccessText(access.project)]
  const form = {
    action: 'Save',
    mutation: save,
    onCancel: () => close(),
    onSubmit: (attributes: object) =>
      save.mutate({ id, attributes }, { onSuccess: () => close(`Access to ${subject.name} saved`) }),
  }
  return (
    <li className="space-y-3 px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1">
          <h3 className="flex flex-wrap items-center gap-2 font-medium wrap-anywhere">
            <SubjectLink organization={organization} kind={kind} {...subject} /> <Badge text={level} />
          </h3>
          <p className="text-dim">{text}</p>
          {!isOfTeam && (
            <p className="text-dim">
              Through the team <TeamLink organization={organization} {...team} />
            </p>
          )}
        </div>
        {isOfTeam && subject.mayManage && !isOpen && (
          <div ref={place}>
            <RowMenu
              label={`Actions for ${subject.name}`}
              actions={[
                { text: 'Edit access', icon: Pencil, onSelect: open },
                {
                  text: 'Remove access',
                  icon: Trash2,
                  confirm: {
                    title: `Remove the access of ${team.name} to ${subject.name}?`,
                    consequence: 'Its members keep access granted in other ways.',
                    action: 'Remove access',
                    done: 'Access removed',
                    onConfirm: async () => removeGrant({ kind, ...subject }, id),
                  },
                },
              ]}
            />
          </div>
        )}
      </div>
      {isOpen && 'workspace' in access && <WorkspaceAccessForm saved={access.workspace} {...form} />}
      {isOpen && 'project' in access && <ProjectAccessForm saved={access.project} {...form} />}
    </li>
  )
}

type SubjectLinkProps = { organization: string; kind: 'workspace' | 'project'; id: string; name: string }

function SubjectLink({ organization, kind, id, name }: SubjectLinkProps) {
  if (kind === 'workspace') return <WorkspaceLink workspace={name} className="hover:underline" />
  const to = '/app/$organization/projects/$project'
  return (
    <TargetLink leadsTo={{ to, params: { organization, project: id } }} className="hover:underline">
      {name}
    </TargetLink>
  )
}
