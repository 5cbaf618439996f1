import { Badge, OUTCOME_STYLE, StatusText } from '../../components/status.tsx'
import type { ModuleVersion, RegistryModule } from './registry.ts'

type Status = ModuleVersion['attributes']['status']

const VERSION_STATES: Readonly<Record<Status, { text: string; style: keyof typeof OUTCOME_STYLE }>> = {
  pending: { text: 'waits for its archive', style: 'waiting' },
  cloning: { text: 'fetching', style: 'running' },
  clone_failed: { text: 'could not be fetched', style: 'failed' },
  reg_ingress_req_failed: { text: 'failed', style: 'failed' },
  reg_ingressing: { text: 'publishing', style: 'running' },
  reg_ingress_failed: { text: 'rejected', style: 'failed' },
  ok: { text: 'published', style: 'done' },
}

export function VersionState({ status }: { status: Status }) {
  const { text, style } = VERSION_STATES[status]
  return <StatusText {...OUTCOME_STYLE[style]} isBusy={style === 'running'} text={text} />
}

/** The latest version of a module, or why it has none. */
export function ModuleState({ module: { attributes } }: { module: RegistryModule }) {
  const { 'latest-version': latest, 'version-statuses': versions, status, 'registry-name': registry } = attributes
  if (registry === 'public') return <Badge text="public registry" />
  const [first] = versions
  if (latest !== null)
    return (
      <span className="inline-flex flex-wrap items-center gap-2">
        <code>{latest}</code>
        {first && first.version !== latest && first.status !== 'ok' && <VersionState status={first.status} />}
      </span>
    )
  if (first) return <VersionState status={first.status} />
  if (status === 'no_version_tags') return <StatusText {...OUTCOME_STYLE.warning} text="no tags with versions" />
  if (status === 'setup_failed') return <StatusText {...OUTCOME_STYLE.failed} text="setup failed" />
  return <span className="text-dim">no versions</span>
}
