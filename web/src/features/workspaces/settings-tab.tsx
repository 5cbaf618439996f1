import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Card } from '../../components/card.tsx'
import { Notice } from '../../components/feedback.tsx'
import { DeletionSettings } from './deletion-settings.tsx'
import { ExecutionSettings } from './execution-settings.tsx'
import { GeneralSettings } from './general-settings.tsx'
import { RetentionSettings } from './retention-settings.tsx'
import { SharingSettings } from './sharing-settings.tsx'
import { TagsSettings } from './tags-settings.tsx'
import { useOpenWorkspace } from './workspace.ts'

/** The settings of a workspace, one form per part; read-only for users who may not change them. */
export function SettingsTab() {
  const { workspace } = useOpenWorkspace()
  return (
    <div className="max-w-4xl space-y-4">
      {!workspace.attributes.permissions['can-update'] && (
        <Notice>You see these settings; to change them takes admin access to the workspace.</Notice>
      )}
      <GeneralSettings />
      <TagsSettings />
      <ExecutionSettings />
      <SharingSettings />
      <Card title="Set up elsewhere">
        <ul className="list-disc space-y-1 pl-5">
          <li>
            <TabLink to="triggers">Run triggers</TabLink>: which applies start runs here, and where runs here lead on.
          </li>
          <li>
            <TabLink to="tasks">Run tasks</TabLink>: what is asked at each stage of a run.
          </li>
          <li>
            <TabLink to="access">Access</TabLink>: which teams may do what.
          </li>
        </ul>
      </Card>
      <RetentionSettings />
      <DeletionSettings />
    </div>
  )
}

function TabLink({ to, children }: { to: 'triggers' | 'tasks' | 'access'; children: ReactNode }) {
  const { organization, workspace } = useOpenWorkspace()
  return (
    <Link
      to={`/app/$organization/workspaces/$workspace/${to}`}
      params={{ organization, workspace: workspace.attributes.name }}
      className="text-accent underline"
    >
      {children}
    </Link>
  )
}
