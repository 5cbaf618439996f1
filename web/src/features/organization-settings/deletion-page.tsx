import { useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { invalidate, isOfScope, queries } from '../../api/queries.ts'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { ListLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { useOverview } from '../overview/overview.ts'
import { deleteOrganization, useOpenOrganization } from './organization-settings.ts'

export function DeletionPage() {
  const { name, data, fallback } = useOpenOrganization()
  const workspaces = useOverview(name).data?.overview.workspaces.total
  const navigate = useNavigate()
  return (
    <Page title="Delete organization">
      {!data && fallback}
      {data && (
        <Card tone="bad" title={`Delete ${name}`}>
          <div className="space-y-4">
            <div className="space-y-1">
              <p>Deletes permanently and immediately:</p>
              <ul className="list-disc pl-5">
                <li>
                  {workspaces === undefined ? 'all workspaces' : counted(workspaces, 'workspace')} with all states,
                  runs, configurations and variables
                </li>
                <li>projects, variable sets, run tasks, run triggers and agent pools</li>
                <li>teams, invitations, and all tokens of the organization, its teams and its agents</li>
              </ul>
            </div>
            <p>
              The infrastructure is <strong>not</strong> destroyed: without the states, no engine manages it. To destroy
              it, start destroy runs in the{' '}
              <ListLink list="workspaces" className="text-accent underline">
                workspaces
              </ListLink>{' '}
              first. Accounts of members remain, and site administrators still see the audit trail.
            </p>
            <Confirm
              label="Delete organization"
              icon={Trash2}
              reason={
                data.attributes.permissions['can-destroy'] ? undefined : 'only owners can delete the organization'
              }
              title={`Delete the organization ${name} and everything in it?`}
              consequence="This can’t be undone, except from a backup of the whole server."
              typedName={name}
              action="Delete organization"
              done={`${name} was deleted`}
              onConfirm={async () => {
                await deleteOrganization(name)
                await navigate({ to: '/app', search: { all: true }, ignoreBlocker: true })
                queries.removeQueries({ predicate: ({ queryKey }) => isOfScope({ queryKey }, name) })
                await invalidate(['organizations'])
              }}
            />
          </div>
        </Card>
      )}
    </Page>
  )
}
