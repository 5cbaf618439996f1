import { Boxes, Check, CircleX, Clock, LoaderCircle, Play, Trash2 } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { AttributeDiff } from './attribute-diff.tsx'
import { Button, IconButton } from './button.tsx'
import { Card, Facts } from './card.tsx'
import { Confirm } from './confirm.tsx'
import { CodeBlock, CopyButton } from './copy.tsx'
import { Dialog, Drawer } from './dialog.tsx'
import { EmptyState, ErrorNote, Notice, Skeleton } from './feedback.tsx'
import { ActiveFilter, FilterChips, SearchField } from './filters.tsx'
import { CheckField, RadioField, SelectField, TextArea, TextField } from './form.tsx'
import { Menu } from './menu.tsx'
import { toast } from './overlay-hosts.tsx'
import { Page } from './page.tsx'
import { Pager } from './pager.tsx'
import { Picker } from './picker.tsx'
import { PlanCounts } from './plan-counts.tsx'
import { Badge, StatusText } from './status.tsx'
import { type Column, Table } from './table.tsx'
import { Ago, Elapsed } from './time.tsx'
import { VirtualRows } from './virtual-rows.tsx'

const Editor = lazy(async () => import('./editor.tsx'))
const MarkdownText = lazy(async () => import('./markdown.tsx'))

const COLUMNS: readonly Column<{ id: string; count: number }>[] = [
  { id: 'name', header: 'Name', sort: 'name', cell: ({ id }) => id },
  { id: 'count', header: 'Resources', cell: ({ count }) => <span className="numeric">{count}</span> },
]
const PROJECTS = [
  { value: 'a', text: 'Platform', about: '12 workspaces' },
  { value: 'b', text: 'Shop' },
]
const NOOP = () => {}
const SINCE = new Date(Date.now() - 190_000).toISOString()

/** Every component of the kit, in its states: for whoever develops a page. */
export function KitPage() {
  return (
    <Page
      title="Kit"
      about="What pages are made of. Open it in both themes and at the width of a phone after a change."
    >
      <div className="grid gap-4 lg:grid-cols-2">
        <Buttons />
        <Statuses />
        <Forms />
        <Lists />
        <Overlays />
        <Texts />
        <Part title="Feedback">
          <Notice>Something to know.</Notice>
          <Notice tone="warn">Something to think about.</Notice>
          <Notice tone="good">It is done.</Notice>
          <ErrorNote error={new Error('connection refused')} onRetry={NOOP} />
          <Skeleton rows={2} />
          <EmptyState icon={Boxes} title="Nothing here yet" actions={<Button kind="primary">The first step</Button>}>
            <p>What would be here, and how it comes.</p>
          </EmptyState>
        </Part>
        <Part title="Differences">
          <PlanCounts counts={{ additions: 2, changes: 4, destructions: 1, imports: 1 }} />
          <AttributeDiff
            label="Changes of the example"
            changes={[
              {
                path: 'instance_type',
                before: { kind: 'value', text: 't3.small' },
                after: { kind: 'value', text: 't3.large' },
                forcesReplacement: true,
              },
              { path: 'id', before: { kind: 'value', text: 'i-0123' }, after: { kind: 'unknown' } },
              { path: 'password', before: { kind: 'sensitive' }, after: { kind: 'sensitive' } },
              { path: 'tags.env', before: { kind: 'absent' }, after: { kind: 'value', text: 'prod' } },
              {
                path: 'zones[0]',
                before: { kind: 'value', text: 'a' },
                after: { kind: 'value', text: 'a' },
                movedTo: '[2]',
              },
              {
                path: 'user_data',
                before: { kind: 'value', text: 'one\ntwo' },
                after: { kind: 'value', text: 'one\n2' },
                lines: [
                  { sign: ' ', text: 'one' },
                  { sign: '−', text: 'two' },
                  { sign: '+', text: '2' },
                ],
              },
            ]}
          />
        </Part>
      </div>
    </Page>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card title={title}>
      <div className="space-y-3">{children}</div>
    </Card>
  )
}

function Buttons() {
  return (
    <Part title="Buttons">
      <div className="flex flex-wrap gap-2">
        <Button kind="primary" icon={Play}>
          Primary
        </Button>
        <Button>Plain</Button>
        <Button kind="quiet">Quiet</Button>
        <Button kind="danger">Danger</Button>
        <Button kind="destroy">Destroy</Button>
        <Button reason="locked by ada since 12:04: maintenance">With a reason</Button>
        <Button isPending>Pending</Button>
        <Button size="small">Small</Button>
        <IconButton label="Start" icon={Play} />
        <CopyButton text="copied" />
      </div>
      <Confirm
        label="Delete the workspace"
        icon={Trash2}
        title="Delete kafka-prod?"
        consequence="Its 12 states and 40 runs go with it."
        typedName="kafka-prod"
        action="Delete kafka-prod"
        onConfirm={async () => Promise.resolve()}
      />
    </Part>
  )
}

function Statuses() {
  return (
    <Part title="States and times">
      <div className="flex flex-wrap gap-3">
        <StatusText tone="good" icon={Check}>
          applied
        </StatusText>
        <StatusText tone="bad" icon={CircleX}>
          errored
        </StatusText>
        <StatusText tone="warn" icon={Clock}>
          waiting
        </StatusText>
        <StatusText tone="busy" icon={LoaderCircle} isBusy>
          planning
        </StatusText>
        {(['quiet', 'good', 'bad', 'warn', 'busy', 'accent'] as const).map((tone) => (
          <Badge key={tone} tone={tone}>
            {tone}
          </Badge>
        ))}
      </div>
      <Facts
        facts={[
          ['Started', <Ago key="ago" at={SINCE} />],
          ['Takes', <Elapsed key="elapsed" from={SINCE} />],
        ]}
      />
    </Part>
  )
}

function Forms() {
  const [mode, setMode] = useState('remote')
  const [code, setCode] = useState('{\n  region = "eu-west-1"\n}')
  return (
    <Part title="Forms">
      <TextField
        label="Name"
        hint="Letters, digits, - and _."
        error="name is taken: choose another one"
        defaultValue="kafka"
      />
      <TextArea label="Description" />
      <SelectField label="Project" options={[['a', 'Default Project']]} />
      <CheckField label="Apply by itself" hint="Without asking anybody." />
      <RadioField
        label="Execution"
        name="mode"
        value={mode}
        onChange={setMode}
        options={[
          { value: 'remote', text: 'Remote', about: 'On this server.' },
          { value: 'agent', text: 'Agent', reason: 'There is no agent pool yet.' },
        ]}
      />
      <Suspense fallback={<Skeleton rows={2} />}>
        <Editor label="Value" language="hcl" value={code} onChange={setCode} />
      </Suspense>
    </Part>
  )
}

function Lists() {
  const [q, setQ] = useState('')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(['good']))
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const toggle = (value: string) => setChosen(chosen.symmetricDifference(new Set([value])))
  return (
    <Part title="Lists">
      <SearchField label="Search by name" value={q} onChange={setQ} />
      <FilterChips
        label="Status"
        chosen={chosen}
        onToggle={toggle}
        chips={[
          { value: 'good', text: 'Applied', count: 1204, tone: 'good', icon: Check },
          { value: 'bad', text: 'Errored', count: 3, tone: 'bad', icon: CircleX },
        ]}
      />
      <div className="flex flex-wrap items-center gap-2">
        <Picker
          label="Project"
          about={['kit']}
          load={(text) => PROJECTS.filter((project) => project.text.includes(text))}
          freeText={(text) => ({ value: text, text })}
          onChoose={NOOP}
        />
        <ActiveFilter name="Project" value="Platform" onRemove={NOOP} />
      </div>
      <Table
        label="An example"
        columns={COLUMNS}
        rows={[
          { id: 'kafka-prod', count: 12 },
          { id: 'kafka-test', count: 3 },
        ]}
        sort="name"
        onSort={NOOP}
        selection={{ ids, onChange: setIds }}
      />
      <Pager pagination={{ 'current-page': 2, 'page-size': 20, 'total-pages': 3, 'total-count': 55 }} onPage={NOOP} />
      <VirtualRows
        label="Many rows"
        count={10_000}
        rowHeight={24}
        keyOf={(index) => index}
        className="h-24 rounded-md border border-line"
        render={(index) => <div className="px-2">Row {index + 1}</div>}
      />
    </Part>
  )
}

function Overlays() {
  const [open, setOpen] = useState<'dialog' | 'drawer'>()
  const close = () => setOpen(undefined)
  return (
    <Part title="Over the page">
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => setOpen('dialog')}>Dialog</Button>
        <Button onClick={() => setOpen('drawer')}>Drawer</Button>
        <Button onClick={() => toast({ text: 'The workspace is locked', undo: NOOP })}>Toast</Button>
        <Menu
          trigger={<Button>Menu</Button>}
          items={[
            { text: 'Start', icon: Play, onSelect: NOOP },
            { text: 'Not now', onSelect: NOOP, reason: 'nothing is chosen' },
            'separator',
            { text: 'Delete', icon: Trash2, onSelect: NOOP, isDanger: true },
          ]}
        />
      </div>
      <Dialog
        title="A dialog"
        about="What it is for."
        isOpen={open === 'dialog'}
        onClose={close}
        footer={<Button onClick={close}>Done</Button>}
      >
        <TextField label="A field" />
      </Dialog>
      <Drawer label="A drawer" side="right" isOpen={open === 'drawer'} onClose={close}>
        <p className="p-4">What a row says.</p>
      </Drawer>
    </Part>
  )
}

function Texts() {
  return (
    <Part title="Texts">
      <CodeBlock label="the cloud block" code={'terraform {\n  cloud {}\n}'} />
      <Suspense fallback={<Skeleton rows={2} />}>
        <MarkdownText
          text={'# A heading\n\nA *text* with `code`, a [link](https://example.com) and a list:\n\n- one\n- two'}
        />
      </Suspense>
    </Part>
  )
}
