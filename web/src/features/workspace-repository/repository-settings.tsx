import { Unplug } from 'lucide-react'
import { request } from '../../api/client.ts'
import { useChange } from '../../api/queries.ts'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { Notice, loaded } from '../../components/feedback.tsx'
import { SelectField } from '../../components/form.tsx'
import { ExternalLink, ListLink, TargetLink, WorkspaceLink } from '../../components/links.tsx'
import { SettingsForm, errorAt, useDraft } from '../../components/settings-form.tsx'
import { RelativeTime, withLocalTimes } from '../../components/time.tsx'
import { WebhookBadge } from '../connections/connection-repositories.tsx'
import { useUsableConnections, useUsedRepository } from '../connections/connections.ts'
import { PROVIDERS } from '../connections/providers.ts'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { useSshKeyChoices } from '../ssh-keys/ssh-keys.ts'
import { type WorkspaceAttributes, useOpenWorkspace, useUpdateWorkspace } from '../workspaces/workspace.ts'
import {
  DirectoryField,
  NoConnections,
  REPOSITORY_POINTER,
  RepositoryChoice,
  RunFields,
  TriggerFields,
} from './repository-fields.tsx'
import {
  TRIGGERS,
  connectionIdOf,
  repositoryAttributes,
  repositoryProblem,
  repositoryValues,
} from './repository-form.ts'

/** The repository that a workspace follows, and the SSH key of its runs. */
export function RepositorySettings() {
  const { workspace } = useOpenWorkspace()
  const { permissions, 'vcs-repo': repository } = workspace.attributes
  return (
    <div className="space-y-4">
      {repository && <Connected repository={repository} />}
      <Repository />
      <SshKey />
      {repository && permissions['can-update'] && <Disconnection name={repository['display-identifier']} />}
    </div>
  )
}

type VcsRepo = NonNullable<WorkspaceAttributes['vcs-repo']>

/** The repository in use, with its problem, and the address of its webhook for those who may change it. */
function Connected({ repository }: { repository: VcsRepo }) {
  const { organization, workspace } = useOpenWorkspace()
  const connections = useUsableConnections(organization, workspace.relationships.project.data?.id).data
  const connection = connections?.find(({ id }) => id === connectionIdOf(repository))
  const used = useUsedRepository(connection?.clientId, repository.identifier)
  const problem = connection?.problem ?? workspace.attributes['vcs-repo-problem']
  const polledAt = used?.['polled-at'] ?? null
  const provider = PROVIDERS[repository['service-provider']]
  const name = repository['display-identifier']
  const url = repository['webhook-url']
  return (
    <Card
      title="In use"
      actions={
        <WorkspaceLink workspace={workspace.attributes.name} tab="deliveries" className="text-accent underline">
          Deliveries
        </WorkspaceLink>
      }
    >
      <DescriptionList
        facts={[
          ['Host', provider.text],
          [
            'Connection',
            connection?.clientId === undefined ? (
              connection?.name
            ) : (
              <TargetLink
                key="connection"
                leadsTo={{
                  to: '/app/$organization/connections/$connection',
                  params: { organization, connection: connection.clientId },
                }}
                className="text-accent underline"
              >
                {connection.name}
              </TargetLink>
            ),
          ],
          [
            'Repository',
            repository['repository-http-url'] === '' ? (
              name
            ) : (
              <ExternalLink key="repository" href={repository['repository-http-url']}>
                {name}
              </ExternalLink>
            ),
          ],
          [
            'Branch',
            repository.tags
              ? 'any: tags start runs'
              : repository.branch || ['the default branch', used?.['default-branch']].filter(Boolean).join(', '),
          ],
          ['Webhook', used && <WebhookBadge key="webhook" repository={used} />],
          ['Last poll', polledAt === null ? undefined : <RelativeTime key="polled" at={polledAt} />],
        ]}
      />
      {problem !== null && (
        <div className="mt-3">
          <Notice tone="bad">{withLocalTimes(problem)}</Notice>
        </div>
      )}
      {url !== null && !provider.hasApi && (
        <div className="mt-3">
          <p className="mb-1 font-medium">Webhook URL</p>
          <CodeBlock label="the webhook URL" code={url} />
          <p className="mt-1 text-dim">
            The page of the connection, under{' '}
            <ListLink list="connections" className="text-accent underline">
              Connections
            </ListLink>
            , has the hook for the git server and creates its secret.
          </p>
        </div>
      )}
    </Card>
  )
}

const NAMES = [
  REPOSITORY_POINTER,
  /^\/data\/attributes\/(?:working-directory|file-triggers-enabled|trigger-prefixes|trigger-patterns)/,
]

function Repository() {
  const { organization, workspace } = useOpenWorkspace()
  const { attributes, relationships } = workspace
  const update = useUpdateWorkspace(organization)
  const mayConnect = useOrganizationPermissions(organization)?.['can-update-oauth'] === true
  const draft = useDraft(repositoryValues(attributes))
  const query = useUsableConnections(organization, relationships.project.data?.id)
  const { data: connections, fallback } = loaded(query, { rows: 3 })
  const mayUpdate = attributes.permissions['can-update']
  if (!mayUpdate) return <ReadOnly attributes={attributes} />
  if (!connections) return <Card title="Repository">{fallback}</Card>
  if (connections.length === 0 && attributes['vcs-repo'] === null)
    return (
      <Card title="Repository">
        <NoConnections mayConnect={mayConnect} />
      </Card>
    )
  const provider = connections.find(({ id }) => id === draft.values.tokenId)?.provider
  const hasPullRequests = provider === undefined || PROVIDERS[provider].hasApi
  return (
    <SettingsForm
      title="Repository"
      about={`Pushes start runs of the configuration in it${hasPullRequests ? ', and pull requests get plans' : ''}.`}
      names={NAMES}
      draft={draft}
      problem={repositoryProblem(draft.values)}
      onSave={async () =>
        update.mutateAsync({ id: workspace.id, attributes: repositoryAttributes(draft.changed, draft.values) })
      }
      done="Repository saved"
    >
      <RepositoryChoice
        draft={draft}
        connections={connections}
        workspaceId={workspace.id}
        hasBranch={draft.values.trigger !== 'tags'}
      />
      <DirectoryField
        organization={organization}
        draft={draft}
        workspaceId={workspace.id}
        hint="The directory of the configuration in the repository; the root if empty."
      />
      <TriggerFields draft={draft} />
      <RunFields draft={draft} hasPullRequests={hasPullRequests} />
    </SettingsForm>
  )
}

function ReadOnly({ attributes }: { attributes: WorkspaceAttributes }) {
  const values = repositoryValues(attributes)
  const yes = (isSet: boolean) => (isSet ? 'Yes' : 'No')
  const repository = attributes['vcs-repo']
  if (repository === null)
    return (
      <Card title="Repository">
        <p className="text-dim">The workspace follows no repository.</p>
      </Card>
    )
  return (
    <Card title="Repository">
      <DescriptionList
        facts={[
          ['Working directory', values.directory || 'root of the repository'],
          ['Start runs', TRIGGERS[values.trigger].text],
          [
            'Directories',
            values.trigger === 'prefixes' ? values.prefixes.replaceAll('\n', ', ') || undefined : undefined,
          ],
          ['Patterns', values.trigger === 'patterns' ? values.patterns.replaceAll('\n', ', ') : undefined],
          ['Tags', values.trigger === 'tags' ? <code key="tags">{values.tagsRegex}</code> : undefined],
          ...(PROVIDERS[repository['service-provider']].hasApi
            ? [
                ['Plan pull requests', yes(values.plansPullRequests)] as const,
                ['Apply what was reviewed', yes(values.appliesReviewed)] as const,
              ]
            : []),
          ['First push starts a run', yes(values.queuesAllRuns)],
          ['Submodules', yes(values.submodules)],
        ]}
      />
    </Card>
  )
}

/** The key with which runs fetch modules. */
function SshKey() {
  const { organization, workspace } = useOpenWorkspace()
  const { attributes, relationships } = workspace
  const keys = useSshKeyChoices(organization).data
  const id = relationships['ssh-key'].data?.id ?? ''
  const draft = useDraft({ id })
  const assign = useChange(
    async (keyId: string) =>
      request('PATCH', `/workspaces/${workspace.id}/relationships/ssh-key`, {
        data: { type: 'workspaces', attributes: { id: keyId === '' ? null : keyId } },
      }),
    ['workspaces', organization],
  )
  const name = keys?.find((key) => key.id === id)?.name
  if (keys?.length === 0 && id === '') return null
  return (
    <SettingsForm
      title="SSH key"
      about="With it, runs fetch modules whose source is a private repository that is reached through ssh."
      readOnly={
        !attributes.permissions['can-update'] && <p className="text-dim">{id === '' ? 'None.' : (name ?? id)}</p>
      }
      names={['id']}
      draft={draft}
      onSave={async () => assign.mutateAsync(draft.values.id)}
      done="SSH key saved"
    >
      <SelectField
        label="SSH key"
        value={draft.values.id}
        onChange={({ target }) => draft.set({ id: target.value })}
        options={[
          ['', 'None'],
          ...(id !== '' && name === undefined ? [[id, id] as const] : []),
          ...(keys ?? []).map((key) => [key.id, key.name] as const),
        ]}
        error={errorAt(draft.error, '/data/attributes/id')}
      />
    </SettingsForm>
  )
}

function Disconnection({ name }: { name: string }) {
  const { organization, workspace } = useOpenWorkspace()
  const update = useUpdateWorkspace(organization)
  const hasConfiguration = workspace.attributes['has-configuration']
  return (
    <Card
      title="Disconnect"
      tone="bad"
      about={`Pushes no longer start runs. ${
        hasConfiguration
          ? 'The state, the runs and the current configuration stay.'
          : 'The state and the runs stay. No configuration of this repository has been fetched, so the next run needs an upload.'
      }`}
    >
      <Confirm
        label="Disconnect repository"
        icon={Unplug}
        title={`Disconnect ${name}?`}
        consequence="Pushes and pull requests no longer start runs in this workspace. Runs that have started continue."
        action="Disconnect"
        done={`${name} disconnected`}
        onConfirm={async () => update.mutateAsync({ id: workspace.id, attributes: { 'vcs-repo': null } })}
      />
    </Card>
  )
}
