import { CircleCheck, CircleDashed, CircleX, LoaderCircle } from 'lucide-react'
import { CodeBlock } from '../../components/copy.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Badge, StatusText } from '../../components/status.tsx'
import { EXAMPLE_CODE, EXAMPLE_DEFINITION } from './example.ts'
import type { PolicySet, PolicySetVersion } from './policy-sets.ts'

export function LevelBadge({ level }: { level: string }) {
  return <Badge tone={level === 'mandatory' ? 'accent' : 'quiet'} text={level} />
}

const VERSION_STATES: Record<
  string,
  { text: string; tone: 'quiet' | 'busy' | 'good' | 'bad'; icon: typeof CircleCheck }
> = {
  pending: { text: 'waiting for upload', tone: 'quiet', icon: CircleDashed },
  ingressing: { text: 'reading', tone: 'busy', icon: LoaderCircle },
  ready: { text: 'ready', tone: 'good', icon: CircleCheck },
  errored: { text: 'errored', tone: 'bad', icon: CircleX },
}

export function VersionStatus({ version }: { version: PolicySetVersion | undefined }) {
  const { status } = version?.attributes ?? {}
  const state = VERSION_STATES[status ?? '']
  if (!state) return <span className="text-dim">none</span>
  return <StatusText {...state} isBusy={status === 'ingressing'} />
}

export function SetLink({
  organization,
  set,
}: {
  organization: string
  set: Pick<PolicySet, 'id'> & { name: string }
}) {
  return (
    <TargetLink
      leadsTo={{ to: '/app/$organization/policy-sets/$set', params: { organization, set: set.id } }}
      className="font-medium hover:underline"
    >
      {set.name}
    </TargetLink>
  )
}

export function selectorText({ key, value }: { key: string; value: string | null }) {
  return value === null ? key : `${key}: ${value}`
}

/** The two files of a minimal set, to copy. */
export function ExampleSet() {
  return (
    <div className="space-y-3 text-left">
      <div>
        <p className="mb-1 font-mono text-ink">policies.hcl</p>
        <CodeBlock label="policies.hcl" code={EXAMPLE_DEFINITION} />
      </div>
      <div>
        <p className="mb-1 font-mono text-ink">no_public_buckets.rego</p>
        <CodeBlock label="no_public_buckets.rego" code={EXAMPLE_CODE} />
      </div>
    </div>
  )
}
