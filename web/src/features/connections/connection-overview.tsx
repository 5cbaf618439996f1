import { FlaskConical, LogIn } from 'lucide-react'
import { serverPath } from '../../api/base.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { RelativeTime, exactTime, withLocalTimes } from '../../components/time.tsx'
import { useAgentPools } from '../workspaces/new-workspace.ts'
import { ConnectionRepositories } from './connection-repositories.tsx'
import { useIsLimited } from './connection-status.tsx'
import { type ConnectionTest, type ShownConnection, useTestConnection } from './connections.ts'
import { PROVIDERS } from './providers.ts'

type OverviewProps = { organization: string; shown: ShownConnection; mayManage: boolean }

/** Whether the connection works, and the repositories in use. */
export function ConnectionOverview({ organization, shown, mayManage }: OverviewProps) {
  return (
    <div className="max-w-4xl space-y-4">
      <Problem {...{ organization, shown, mayManage }} />
      <Access {...{ organization, shown, mayManage }} />
      <ConnectionRepositories connection={shown.connection} mayManage={mayManage} />
    </div>
  )
}

/** The problem of a connection, and what to do. */
function Problem({ organization, shown, mayManage }: OverviewProps) {
  const { connection } = shown
  const { status, 'status-message': message, 'blocked-until': blockedUntil } = connection.attributes
  const { text } = PROVIDERS[connection.attributes['service-provider']]
  const isLimited = useIsLimited(connection)
  const path = connection.attributes['connect-path']
  if (status === 'pending')
    return (
      <Notice tone="warn">
        {path === null
          ? 'The connection has no token. Add one in its settings.'
          : `One step is left: register the callback URL below with ${text}, then connect.`}
      </Notice>
    )
  if (status === 'failed')
    return (
      <Notice tone="bad">
        {withFullStop(message ?? `${text} refuses the token`)} Until the token is replaced, no push starts a run.{' '}
        {mayManage && path === null && (
          <TargetLink
            leadsTo={{
              to: '/app/$organization/connections/$connection',
              params: { organization, connection: connection.id },
              search: { tab: 'settings' },
            }}
            className="underline"
          >
            Replace the token
          </TargetLink>
        )}
      </Notice>
    )
  if (message !== null) return <Notice tone="warn">{withFullStop(message)}</Notice>
  if (isLimited && blockedUntil !== null)
    return (
      <Notice tone="warn">
        {text} limits requests: the next one is sent <RelativeTime at={blockedUntil} />. Pushes are decided then.
      </Notice>
    )
  return null
}

/** A message of the server as a sentence: it has a full stop or not. */
function withFullStop(text: string) {
  return withLocalTimes(/[.!?]$/.test(text) ? text : `${text}.`)
}

function Access({ organization, shown, mayManage }: OverviewProps) {
  const { connection, token, projects } = shown
  const { attributes, relationships } = connection
  const test = useTestConnection(connection.id)
  const poolId = relationships['agent-pool'].data?.id
  const pool = useAgentPools(organization).data?.find(({ id }) => id === poolId)
  const path = attributes['connect-path']
  const isOAuth = attributes.key !== null
  const count = attributes['affected-workspaces-count'] ?? 0
  const isPending = attributes.status === 'pending'
  return (
    <Card
      title="Access"
      actions={
        mayManage && (
          <div className="flex flex-wrap gap-2">
            <Button
              label="Test"
              icon={FlaskConical}
              isPending={test.isPending}
              reason={isPending ? 'it has no token yet' : undefined}
              onClick={() => test.mutate()}
            />
            {path !== null && attributes.key !== null && (
              <a href={serverPath(path)} className={buttonClass({ kind: 'primary' })}>
                <LogIn size={16} />
                {isPending ? 'Connect' : 'Connect again'}
              </a>
            )}
          </div>
        )
      }
    >
      <div className="space-y-3">
        <div aria-live="polite">
          {test.data && <TestResult result={test.data} />}
          {test.error && <ErrorNote error={test.error} />}
        </div>
        <DescriptionList
          facts={[
            ['User', token?.attributes['service-provider-user']],
            [
              'Through',
              isOAuth ? 'OAuth application' : attributes['http-url']?.startsWith('ssh:') ? 'SSH key' : 'Access token',
            ],
            ['SSH key', token?.attributes['has-ssh-key'] && isOAuth ? 'set, for submodules' : undefined],
            [
              'API',
              attributes['api-url'] !== attributes['http-url'] ? (
                <code key="api" className="break-all">
                  {attributes['api-url']}
                </code>
              ) : undefined,
            ],
            ['Reached through', poolId === undefined ? 'This server' : `Agent pool ${pool?.name ?? poolId}`],
            [
              'Scope',
              attributes['organization-scoped']
                ? 'All workspaces'
                : projects.length === 0
                  ? 'No project yet: add some in the settings'
                  : `Projects: ${projects.map(({ name }) => name).join(', ')}`,
            ],
            ['Used by', counted(count, 'workspace')],
            ['Changes', reportedBy(shown)],
            ['Created', exactTime(attributes['created-at'])],
          ]}
        />
        {isOAuth && mayManage && attributes['callback-url'] !== null && (
          <div>
            <p className="mb-1 font-medium">Callback URL</p>
            <CodeBlock label="the callback URL" code={attributes['callback-url']} />
          </div>
        )}
      </div>
    </Card>
  )
}

/** How the server learns of changes. It polls repositories without a webhook of its own, whatever the settings. */
function reportedBy({ connection: { attributes } }: ShownConnection) {
  if (!PROVIDERS[attributes['service-provider']].hasApi)
    return 'Polled every minute, and reported by the hook of the repository if there is one'
  return attributes['polling-enabled'] ? 'Reported by webhooks, and polled' : 'Reported by webhooks; polled without one'
}

function TestResult({ result }: { result: ConnectionTest }) {
  const { result: outcome, message, 'service-provider-user': user } = result
  if (outcome === 'accepted')
    return <Notice tone="good">{`The host accepts the token${user === null ? '' : ` of ${user}`}.`}</Notice>
  if (outcome === 'untested')
    return <Notice>No workspace uses a repository of this connection yet. The first one shows whether it works.</Notice>
  return (
    <Notice tone="bad">{message ?? (outcome === 'refused' ? 'The host refuses the token.' : 'No response.')}</Notice>
  )
}
