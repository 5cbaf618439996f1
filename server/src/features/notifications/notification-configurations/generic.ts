import { type Content, runUrl } from './content.ts'

/** The payload for programs: version 1 about runs and in verifications, 2 about workspaces (public documentation: notification-configurations). */
export function genericPayload(baseUrl: string, content: Content) {
  const { configuration, trigger, message, workspace, run } = content
  if (workspace && !run) {
    return {
      payload_version: 2,
      notification_configuration_id: configuration?.id ?? null,
      notification_configuration_url:
        configuration && `${baseUrl}/api/v2/notification-configurations/${configuration.id}`,
      trigger_scope: 'workspace',
      trigger,
      message,
      details: workspace,
    }
  }
  return {
    payload_version: 1,
    notification_configuration_id: configuration?.id ?? null,
    run_url: runUrl(baseUrl, content),
    run_id: run?.run_id ?? null,
    run_message: run?.run_message ?? null,
    run_created_at: run?.run_created_at ?? null,
    run_created_by: run?.run_created_by ?? null,
    workspace_id: workspace?.workspace_id ?? null,
    workspace_name: workspace?.workspace_name ?? null,
    organization_name: workspace?.organization_name ?? null,
    notifications: [
      {
        message,
        trigger,
        run_status: run?.run_status ?? null,
        run_updated_at: run?.run_updated_at ?? null,
        run_updated_by: run?.run_updated_by ?? null,
      },
    ],
  }
}
