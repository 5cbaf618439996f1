import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { ErrorNote, Notice, loaded } from '../../components/feedback.tsx'
import { byteSize, capitalized, counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { OUTCOME_STYLE, StatusText } from '../../components/status.tsx'
import { Count, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type Problem, problemsOf } from './health-problems.ts'
import { type Health, useHealth, useTestMail } from './health.ts'

/** The condition of the server, in statements, and what to do where it is not right. */
export function HealthPage() {
  const { data: health, fallback } = loaded(useHealth(), { rows: 10 })
  return (
    <Page
      title="Health"
      about={
        health && (
          <>
            Measured <RelativeTime at={health['measured-at']} />, and again every 10 seconds.
          </>
        )
      }
      actions={<CopyCurl path="/admin/health" />}
    >
      {!health && fallback}
      {health && <HealthCards health={health} />}
    </Page>
  )
}

function HealthCards({ health }: { health: Health }) {
  const problems = problemsOf(health)
  const of = (part: Problem['part']) => problems.filter((problem) => problem.part === part)
  return (
    <div className="grid gap-4">
      {problems.length === 0 && (
        <Notice tone="good" role="status">
          Everything works.
        </Notice>
      )}
      <Queue health={health} problems={of('queue')} />
      <Agents health={health} problems={of('agents')} />
      <div className="grid gap-4 lg:grid-cols-2">
        <Database health={health} problems={of('database')} />
        <Storage health={health} problems={of('storage')} />
      </div>
      <Servers health={health} />
    </div>
  )
}

type PartProps = { health: Health; problems: readonly Problem[] }

function Part({ title, problems, children }: { title: string; problems: readonly Problem[]; children: ReactNode }) {
  const style = problems.some(({ isSevere }) => isSevere)
    ? { ...OUTCOME_STYLE.failed, text: 'Problem' }
    : problems.length > 0
      ? { ...OUTCOME_STYLE.warning, text: 'Check' }
      : { ...OUTCOME_STYLE.done, text: 'OK' }
  return (
    <Card title={title} actions={<StatusText {...style} />}>
      <div className="space-y-3">
        {problems.map(({ text, advice, anchor, link, isSevere }) => (
          <Notice key={text} tone={isSevere ? 'bad' : 'warn'}>
            <p className="font-medium">{text}</p>
            <p>
              {advice}{' '}
              {link && (
                <Link to={link.to} className="underline">
                  {link.text}
                </Link>
              )}
              {anchor !== undefined && (
                <DocsLink page="operations" anchor={anchor}>
                  Read more
                </DocsLink>
              )}
            </p>
          </Notice>
        ))}
        {children}
      </div>
    </Card>
  )
}

/** A number with its unit. Zero recedes. */
function Figure({ value, what }: { value: number; what: string }) {
  return (
    <span className={value === 0 ? 'text-dim' : 'font-medium'}>
      <span className="numeric">{value.toLocaleString('en')}</span> {what}
    </span>
  )
}

function Counts({ children }: { children: ReactNode }) {
  return <p className="flex flex-wrap gap-x-5 gap-y-1">{children}</p>
}

function Queue({ health: { queue }, problems }: PartProps) {
  const kinds = queue.kinds.filter((kind) => kind.waiting + kind.active + kind.failed + kind.scheduled > 0)
  return (
    <Part title="Background jobs" problems={problems}>
      <Counts>
        <Figure value={queue.waiting} what="waiting" />
        <Figure value={queue.active} what="active" />
        <Figure value={queue.scheduled} what="scheduled" />
        <Figure value={queue.failed} what="failed" />
      </Counts>
      {kinds.length > 0 && (
        <Table
          label="Jobs by kind"
          rows={kinds.map((kind) => ({ id: kind.name, ...kind }))}
          columns={[
            { header: 'Kind', cell: ({ name }) => name },
            ...(['waiting', 'active', 'scheduled', 'failed'] as const).map((state) => ({
              header: capitalized(state),
              className: state === 'active' || state === 'scheduled' ? 'text-right max-sm:hidden' : 'text-right',
              cell: (kind: (typeof kinds)[number] & { id: string }) => <Count value={kind[state]} />,
            })),
          ]}
        />
      )}
    </Part>
  )
}

function Agents({ health: { agents }, problems }: PartProps) {
  return (
    <Part title="Agents" problems={problems}>
      <Counts>
        <Figure value={agents.online} what="online" />
        <Figure value={agents.busy} what="busy" />
        <Figure value={agents['jobs-waiting']} what="runs waiting" />
      </Counts>
      {agents.pools.length > 0 && (
        <Table
          label="Agent pools"
          rows={agents.pools}
          columns={[
            { header: 'Pool', cell: ({ name }) => name },
            {
              header: 'Organization',
              className: 'max-sm:hidden',
              cell: ({ organization }) => organization ?? <span className="text-dim">all</span>,
            },
            ...(['online', 'busy', 'jobs-waiting'] as const).map((state) => ({
              header: { online: 'Online', busy: 'Busy', 'jobs-waiting': 'Waiting' }[state],
              className: 'text-right',
              cell: (pool: Health['agents']['pools'][number]) => <Count value={pool[state]} />,
            })),
          ]}
        />
      )}
    </Part>
  )
}

function Database({ health: { database }, problems }: PartProps) {
  return (
    <Part title="Database" problems={problems}>
      <DescriptionList
        facts={[
          ['Version', `PostgreSQL ${database.version}, ${database['is-embedded'] ? 'embedded' : 'external'}`],
          ['Latency', `${database['latency-ms'].toLocaleString('en')} ms`],
          ['Connections', `${database.connections} of ${database['max-connections']}`],
          ['Size', byteSize(database['size-bytes'])],
          ['Migration', database.migration],
        ]}
      />
    </Part>
  )
}

function Storage({ health: { storage }, problems }: PartProps) {
  const { 'total-bytes': total, 'free-bytes': free } = storage
  return (
    <Part title="Storage" problems={problems}>
      <DescriptionList
        facts={[
          ['Type', storage.kind === 'disk' ? 'Disk' : 'S3-compatible bucket'],
          [
            'Location',
            <span key="place" className="wrap-anywhere">
              {storage.place}
            </span>,
          ],
          ['Free', free !== null && total !== null ? `${byteSize(free)} of ${byteSize(total)}` : null],
          ['Latency', `${storage['latency-ms'].toLocaleString('en')} ms`],
        ]}
      />
    </Part>
  )
}

function Servers({ health }: { health: Health }) {
  const { servers, process } = health
  return (
    <Card title="Servers" about={`${counted(servers.length, 'process', 'processes')} connected to the database.`}>
      <div className="space-y-3">
        <DescriptionList
          facts={[
            [
              'Mail',
              health.mail ? (
                <Mail mail={health.mail} />
              ) : (
                <>
                  not configured: links to set a password are copied.{' '}
                  <DocsLink page="operations" anchor="send-mail">
                    Send mail
                  </DocsLink>
                </>
              ),
            ],
            [
              'This process',
              <span key="since">
                started <RelativeTime at={process['started-at']} />
              </span>,
            ],
            ['Memory', `${byteSize(process['memory-bytes'])} (heap: ${byteSize(process['heap-bytes'])})`],
          ]}
        />
        {servers.length > 1 && (
          <Table
            label="Server processes"
            rows={servers}
            columns={[
              {
                header: 'Process',
                cell: (server) => (
                  <>
                    <span className="font-mono whitespace-nowrap">{server.id.slice(0, 8)}</span>
                    {server['is-this'] && <span className="text-dim"> (this one)</span>}
                  </>
                ),
              },
              {
                header: 'Address',
                className: 'whitespace-nowrap',
                cell: ({ address }) => address ?? <span className="text-dim">local</span>,
              },
              { header: 'Version', cell: ({ version }) => version ?? <span className="text-dim">unknown</span> },
              { header: 'Role', cell: ({ role }) => role ?? <span className="text-dim">unknown</span> },
              {
                header: 'Started',
                className: 'max-sm:hidden',
                cell: (server) =>
                  server['started-at'] === null ? (
                    <span className="text-dim">unknown</span>
                  ) : (
                    <RelativeTime at={server['started-at']} />
                  ),
              },
              {
                header: 'Connected',
                className: 'max-sm:hidden',
                cell: (server) => <RelativeTime at={server['connected-at']} />,
              },
            ]}
          />
        )}
      </div>
    </Card>
  )
}

function Mail({ mail: { server, from } }: { mail: NonNullable<Health['mail']> }) {
  const test = useTestMail()
  return (
    <div className="space-y-2">
      <p className="flex flex-wrap items-center gap-2">
        {server}, from {from}
        <Button label="Send test email" size="small" isPending={test.isPending} onClick={() => test.mutate()} />
      </p>
      {test.error && <ErrorNote error={test.error} />}
      {test.data && (
        <Notice tone={test.data.error === null ? 'good' : 'bad'} role="status">
          {test.data.error === null
            ? `The mail server accepted an email to ${test.data.to}.`
            : `No email was sent to ${test.data.to}: ${test.data.error}.`}
        </Notice>
      )}
    </div>
  )
}
