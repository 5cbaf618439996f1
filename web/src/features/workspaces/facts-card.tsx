import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { includedOf } from '../../api/queries.ts'
import { Card, DescriptionList } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { counted } from '../../components/numbers.ts'
import { Badge } from '../../components/status.tsx'
import { RelativeTime, duration } from '../../components/time.tsx'
import { MODES } from './execution-settings.tsx'
import { useOpenWorkspace } from './workspace.ts'

/** Key facts of a workspace. */
export function FactsCard() {
  const { document, workspace } = useOpenWorkspace()
  const { attributes, relationships } = workspace
  const included = includedOf(document)
  const project = included.one('projects', relationships.project)
  const pool = included.one('agent-pools', relationships['agent-pool'])
  const tags = included.many('effective-tag-bindings', relationships['effective-tag-bindings'])
  const state = relationships['current-state-version'].data?.id
  const planMs = attributes['plan-duration-average']
  const applyMs = attributes['apply-duration-average']
  return (
    <Card title="Facts">
      <DescriptionList
        facts={[
          ['Project', project?.attributes.name],
          ['Execution', `${MODES[attributes['execution-mode']].text}${pool ? `, ${pool.attributes.name}` : ''}`],
          ['Version', <code key="version">{attributes['engine-version']}</code>],
          [
            'Directory',
            attributes['working-directory'] === '' ? undefined : (
              <code key="directory">{attributes['working-directory']}</code>
            ),
          ],
          ['Auto-apply', attributes['auto-apply'] ? 'On' : 'Off'],
          ['Resources', counted(attributes['resource-count'], 'resource')],
          ['Last change', <RelativeTime key="change" at={attributes['latest-change-at']} />],
          ['Created', <RelativeTime key="created" at={attributes['created-at']} />],
          ['Plan takes', planMs === null ? undefined : `${duration(planMs)} on average`],
          ['Apply takes', applyMs === null ? undefined : `${duration(applyMs)} on average`],
          [
            'Tags',
            tags.length === 0 ? undefined : (
              <span key="tags" className="flex flex-wrap gap-1">
                {tags.map(({ attributes: { key, value } }) => (
                  <Badge key={key}>{value === '' ? key : `${key}: ${value}`}</Badge>
                ))}
              </span>
            ),
          ],
          ['Workspace id', <Id key="id" id={workspace.id} />],
          ['State', state === undefined ? undefined : <Id key="state" id={state} link={<StateLink id={state} />} />],
        ]}
      />
    </Card>
  )
}

function StateLink({ id }: { id: string }) {
  const { organization, workspace } = useOpenWorkspace()
  return (
    <Link
      to="/app/$organization/workspaces/$workspace/states"
      params={{ organization, workspace: workspace.attributes.name }}
      search={{ version: id }}
      className="text-accent hover:underline"
    >
      <code className="text-xs">{id}</code>
    </Link>
  )
}

function Id({ id, link }: { id: string; link?: ReactNode }) {
  return (
    <span className="flex items-center gap-1">
      {link ?? <code className="min-w-0 text-xs">{id}</code>}
      <CopyButton text={id} label={`Copy ${id}`} />
    </span>
  )
}
