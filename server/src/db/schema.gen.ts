// Written by `npm run db:types` from the migrated schema; not edited by hand.
import type { RunStatus } from '@groundstate/contract/run-status'
import type { ColumnType, Generated } from 'kysely'

/** A JSON column is read as its value and written as text, since the driver would send an array as an SQL array. */
type Json = ColumnType<unknown, string, string>
export type OptionalJson = ColumnType<unknown, string | undefined, string>
type Timestamp = ColumnType<Date, Date | string, Date | string>
export type OptionalTimestamp = ColumnType<Date, Date | string | undefined, Date | string>

export type Schema = {
  agent_jobs: {
    ack_due_at: Timestamp | null
    agent_id: string | null
    agent_name: string | null
    agent_pool_id: string
    attempt: number
    class: number
    command: Generated<'continue' | 'cancel' | 'force-cancel'>
    ended_at: Timestamp | null
    executed_by: string | null
    id: string
    kind: 'plan' | 'apply'
    late_result_at: Timestamp | null
    lease_expires_at: Timestamp | null
    lease_ms: Generated<number>
    leased_at: Timestamp | null
    log_base: Generated<number>
    lost_at: Timestamp | null
    organization_id: string
    phase_id: string
    preferred_agent_id: string | null
    queued_at: Timestamp
    requested_engine: Generated<string>
    round: number
    run_id: string
    seq: Generated<number>
    status: 'queued' | 'running' | 'ended'
    tag: number
    token_hash: Buffer | null
    workspace_id: string
  }
  agent_pool_projects: {
    agent_pool_id: string
    project_id: string
  }
  agent_pool_workspaces: {
    agent_pool_id: string
    rule: 'allowed' | 'excluded'
    workspace_id: string
  }
  agent_pools: {
    created_at: Timestamp
    id: string
    max_concurrent_jobs: number | null
    name: string
    organization_id: string | null
    organization_scoped: Generated<boolean>
  }
  agents: {
    accepts: Generated<string[]>
    agent_pool_id: string
    arch: string
    concurrency: Generated<number>
    created_at: Timestamp
    downloads_engines: boolean | null
    engines: OptionalJson
    exited_at: Timestamp | null
    id: string
    ip_address: string | null
    last_ping_at: Timestamp
    name: string
    os: string
    token_id: string | null
    version: string
  }
  audit_days: {
    events: number
    organization_id: string
    starts_at: Timestamp
  }
  audit_events: {
    action: string
    actor_id: string | null
    actor_name: string
    actor_type: string
    address: string | null
    created_at: Timestamp
    id: string
    meta: Json | null
    organization_id: string | null
    request_id: string | null
    resource_id: string
    resource_type: string
    token_id: string | null
    user_agent: string | null
  }
  avatars: {
    content: Buffer
    file: string
    user_id: string
  }
  blob_sweeps: {
    cursor: string
    prefix: string
    updated_at: Timestamp
  }
  comments: {
    body: string
    created_at: Timestamp
    created_by_user_id: string | null
    id: string
    run_id: string
    seq: Generated<number>
  }
  commit_status_deliveries: {
    commit_sha: string
    duration_ms: number
    error: string | null
    id: string
    is_private: Generated<boolean>
    kind: 'run' | 'plan'
    request_body: string
    request_headers: Json
    response_body: Buffer | null
    response_headers: Json | null
    response_status: number | null
    response_truncated: Generated<boolean>
    run_id: string | null
    sent_at: Timestamp
    url: string
    workspace_id: string
  }
  commit_statuses: {
    commented_version: Generated<number>
    commit_sha: string
    created_at: Timestamp
    detail: string | null
    due_at: OptionalTimestamp
    error: string | null
    kind: 'run' | 'plan'
    pull_request_number: number | null
    reason: string | null
    repository_id: string
    run_id: string | null
    run_number: number | null
    sent: Json | null
    sent_version: Generated<number>
    version: Generated<number>
    workspace_id: string
  }
  configuration_readmes: {
    configuration_version_id: string
    is_cut: Generated<boolean>
    markdown: string | null
    path: string | null
    working_directory: string
  }
  configuration_versions: {
    auto_queue_runs: boolean
    blob_key: string | null
    created_at: Timestamp
    created_by_user_id: string | null
    error: string | null
    error_message: string | null
    fetch_problem: string | null
    id: string
    ingress_attributes_id: string | null
    md5: string | null
    provisional: boolean
    seq: Generated<number>
    size: number | null
    source: 'tfe-api' | 'terraform' | 'terraform+cloud' | 'github' | 'gitlab' | 'bitbucket' | 'ado' | 'gitea' | 'git'
    speculative: boolean
    status: 'pending' | 'fetching' | 'uploaded' | 'archived' | 'errored' | 'backing_data_soft_deleted' | 'backing_data_permanently_deleted'
    status_timestamps: OptionalJson
    workspace_id: string
  }
  content_checks: {
    checked: number
    checked_at: Timestamp
    damaged: Json
  }
  data_retention_policies: {
    created_at: Timestamp
    delete_older_than_days: number | null
    id: string
    organization_id: string | null
    updated_at: Timestamp
    workspace_id: string | null
  }
  former_sensitive_values: {
    digest: string
    length: number
    organization_id: string
    replaced_at: Timestamp
    variable_set_id: string | null
    workspace_id: string | null
  }
  former_variable_sets: {
    variable_set_id: string
    workspace_id: string
  }
  github_app_installations: {
    api_url: string
    blocked_until: Timestamp | null
    created_at: Timestamp
    failed_at: Timestamp | null
    failure: string | null
    http_url: string
    icon_url: string | null
    id: string
    installation_id: number
    installation_type: string
    installation_url: string | null
    name: string
    organization_id: string
    service_provider: 'github' | 'github_enterprise'
  }
  gpg_keys: {
    ascii_armor: string
    created_at: Timestamp
    expires_at: Timestamp | null
    fingerprint: string
    id: string
    key_id: string
    organization_id: string
    updated_at: Timestamp
    user_ids: string[]
  }
  host_reports: {
    attempts: Generated<number>
    failures: Generated<number>
    id: string
    lease_expires_at: Timestamp | null
    retry_at: Timestamp | null
  }
  identity_issuer: {
    is_external: boolean
    is_only: Generated<boolean>
    url: string
  }
  identity_keys: {
    activates_at: Timestamp | null
    created_at: Timestamp
    exponent: string
    id: string
    key_id: string
    modulus: string
    private_key: Buffer
    token_lifetime_ms: number
  }
  ingress_attributes: {
    base_sha: string | null
    branch: string
    changed_files: Generated<string[]>
    clone_url: string
    commit_message: string
    commit_ref: string | null
    commit_sha: string
    commit_url: string
    compare_url: string
    created_at: Timestamp
    id: string
    identifier: string
    is_fork: Generated<boolean>
    on_default_branch: boolean
    pull_request_body: string | null
    pull_request_number: number | null
    pull_request_title: string | null
    pull_request_url: string | null
    repository_id: string | null
    sender_avatar_url: string
    sender_html_url: string
    sender_username: string
    tag: string | null
    tree_sha: string | null
  }
  installation: {
    blob_move_place: string | null
    blob_store_id: string | null
    blob_store_place: string | null
    digest_key: Buffer | null
    next_secret_id: string | null
    next_secret_mark: string | null
    only_row: Generated<boolean>
    retired_secret_marks: Generated<string[]>
    secret_id: string | null
    secret_mark: string
  }
  invited_team_members: {
    created_at: Timestamp
    membership_id: string
    team_id: string
  }
  log_chunks: {
    data: Buffer
    phase_id: string
    start_offset: number
  }
  notification_configuration_invitations: {
    configuration_id: string
    membership_id: string
  }
  notification_configuration_users: {
    configuration_id: string
    user_id: string
  }
  notification_configurations: {
    created_at: Timestamp
    destination_type: 'generic' | 'slack' | 'microsoft-teams' | 'email'
    email_addresses: Generated<string[]>
    email_all_members: Generated<boolean>
    enabled: boolean
    id: string
    name: string
    names_users: Generated<boolean>
    organization_id: string
    project_id: string | null
    team_id: string | null
    token: Buffer | null
    triggers: Generated<string[]>
    updated_at: Timestamp
    url: Buffer | null
    verification: Json | null
    workspace_id: string | null
  }
  notification_deliveries: {
    attempt: number
    duration_ms: number
    error: string | null
    id: string
    is_private: boolean
    next_attempt_at: Timestamp | null
    notification_id: string
    request_body: string
    request_headers: Json
    response_body: Buffer | null
    response_headers: Json | null
    response_status: number | null
    response_truncated: Generated<boolean>
    sent_at: Timestamp
    url: string
  }
  notification_settings: {
    configured_mails: Generated<boolean>
    own_run_triggers: Generated<string[]>
    user_id: string
  }
  notifications: {
    attempts: Generated<number>
    configuration_id: string | null
    created_at: Timestamp
    deadline_at: Timestamp
    delivered_at: Timestamp | null
    delivered_to: Generated<string[]>
    delivery_due_at: Timestamp | null
    error: string | null
    facts: Json
    id: string
    lease_expires_at: Timestamp | null
    organization_id: string
    receiver_id: string
    recipient_id: Generated<string>
    refused_to: Generated<string[]>
    run_id: string | null
    run_status: string | null
    seq: Generated<number>
    status: Generated<'pending' | 'delivered' | 'failed' | 'canceled'>
    trigger: string
    user_id: string | null
    workspace_id: string | null
  }
  oauth_client_projects: {
    oauth_client_id: string
    project_id: string
  }
  oauth_clients: {
    ado_entra_tenant_id: string | null
    agent_pool_id: string | null
    api_url: string
    blocked_until: Timestamp | null
    created_at: Timestamp
    fork_plans_enabled: Generated<boolean>
    http_url: string
    id: string
    key: string | null
    name: string | null
    organization_id: string
    organization_scoped: Generated<boolean>
    polling_enabled: Generated<boolean>
    private_key: Buffer | null
    rsa_public_key: string | null
    secret: Buffer | null
    service_provider: 'github' | 'github_enterprise' | 'gitlab_hosted' | 'gitlab_community_edition' | 'gitlab_enterprise_edition' | 'bitbucket_hosted' | 'bitbucket_server' | 'bitbucket_server_legacy' | 'bitbucket_data_center' | 'ado_services' | 'ado_server' | 'gitea' | 'git'
    updated_at: Timestamp
    uuid: string
  }
  oauth_codes: {
    client_id: string
    code_challenge: string
    expires_at: Timestamp
    hash: Buffer
    redirect_uri: string
    session_id: string | null
    token_id: string | null
    used_at: Timestamp | null
    user_id: string
  }
  oauth_tokens: {
    created_at: Timestamp
    expires_at: Timestamp | null
    failed_at: Timestamp | null
    failure: string | null
    id: string
    oauth_client_id: string
    poll_after: Timestamp | null
    poll_failures: Generated<number>
    refresh_token: Buffer | null
    refreshing_until: Timestamp | null
    service_provider_user: string | null
    ssh_key: Buffer | null
    token: Buffer | null
    unreachable: string | null
    unreachable_since: Timestamp | null
    username: string | null
  }
  opa_version_archs: {
    arch: string
    opa_version_id: string
    os: string
    sha: string | null
    url: string
  }
  opa_versions: {
    beta: Generated<boolean>
    created_at: Timestamp
    deprecated: Generated<boolean>
    deprecated_reason: string | null
    enabled: Generated<boolean>
    id: string
    official: Generated<boolean>
    version: string
  }
  organization_memberships: {
    created_at: Timestamp
    email: string
    id: string
    invitation_expires_at: Timestamp | null
    invitation_hash: Buffer | null
    mailed_invitation_hash: Buffer | null
    organization_id: string
    placeholder_id: string | null
    status: 'active' | 'invited'
    user_id: string | null
    via_sso: Generated<boolean>
  }
  organizations: {
    access_revision: Generated<number>
    aggregated_commit_status_enabled: Generated<boolean>
    allow_force_delete_workspaces: Generated<boolean>
    collaborator_auth_policy: Generated<'password' | 'two_factor_mandatory'>
    cost_estimation_enabled: Generated<boolean>
    created_at: Timestamp
    default_agent_pool_id: string | null
    default_execution_mode: Generated<'remote' | 'local' | 'agent'>
    default_project_id: string | null
    email: string
    id: string
    name: string
    owners_team_saml_role_id: string | null
    plan: 'free' | 'standard' | 'unlimited'
    run_concurrency: number | null
    send_passing_statuses: Generated<boolean>
    session_remember: number | null
    session_timeout: number | null
    speculative_plan_management_enabled: Generated<boolean>
    updated_at: Timestamp
    user_tokens_enabled: Generated<boolean>
  }
  password_resets: {
    expires_at: Timestamp
    hash: Buffer
    user_id: string
  }
  phases: {
    deferred_until: Timestamp | null
    documents_error: string | null
    documents_pending_since: Timestamp | null
    ended_at: Timestamp | null
    file_deleted_at: Timestamp | null
    generated_configuration: Generated<boolean>
    has_changes: Generated<boolean>
    history_deleted_at: Timestamp | null
    id: string
    job_id: string | null
    json_deleted_at: Timestamp | null
    kind: 'plan' | 'apply'
    log_deleted_at: Timestamp | null
    log_size: number | null
    resource_additions: number | null
    resource_changes: number | null
    resource_destructions: number | null
    resource_imports: number | null
    run_id: string
    status: Generated<'pending' | 'queued' | 'running' | 'finished' | 'errored' | 'canceled' | 'unreachable'>
    status_timestamps: OptionalJson
  }
  plan_digests: {
    changes: Json | null
    created_at: Timestamp
    problem: string | null
    run_id: string
  }
  policies: {
    created_at: Timestamp
    description: Generated<string>
    digest: string | null
    enforcement_level: 'advisory' | 'mandatory'
    id: string
    kind: Generated<string>
    name: string
    organization_id: string
    query: string
    updated_at: Timestamp
  }
  policy_evaluations: {
    advisory_failed: Generated<number>
    created_at: Timestamp
    errored: Generated<number>
    id: string
    is_overridable: Generated<boolean>
    mandatory_failed: Generated<number>
    message: string | null
    overridden_by_user_id: string | null
    override_comment: string | null
    passed: Generated<number>
    run_id: string
    status: 'pending' | 'running' | 'passed' | 'failed' | 'overridden' | 'errored' | 'canceled' | 'unreachable'
    status_timestamps: Json
    task_stage_id: string
    tool_version: string | null
    updated_at: Timestamp
  }
  policy_requests: {
    agent_name: string | null
    agent_pool_id: string
    created_at: Timestamp
    id: string
    lease_expires_at: Timestamp | null
    leased_at: Timestamp | null
    leases: Generated<number>
    policy_evaluation_id: string | null
    policy_trial_run_id: string | null
    request: Buffer
    seq: Generated<number>
    time_limit_ms: number
    token_hash: Buffer | null
  }
  policy_set_bundles: {
    blob_key: string
    created_at: Timestamp
    digest: string
    policy_set_id: string
    size: number
  }
  policy_set_outcomes: {
    advisory_failed: number
    commit_sha: string | null
    commit_url: string | null
    error: string | null
    errored: number
    id: string
    mandatory_failed: number
    outcomes: Json
    overridable: boolean
    passed: number
    policy_evaluation_id: string
    policy_set_description: string
    policy_set_id: string | null
    policy_set_name: string
    policy_set_version_id: string | null
    position: number
  }
  policy_set_parameters: {
    created_at: Timestamp
    id: string
    key: string
    policy_set_id: string
    sealed_value: Buffer | null
    sensitive: Generated<boolean>
    updated_at: Timestamp
    value: string | null
  }
  policy_set_policies: {
    policy_id: string
    policy_set_id: string
  }
  policy_set_projects: {
    is_exclusion: boolean
    policy_set_id: string
    project_id: string
  }
  policy_set_tag_selectors: {
    is_exclusion: boolean
    key: string
    policy_set_id: string
    value: string | null
  }
  policy_set_version_policies: {
    description: Generated<string>
    enforcement_level: 'advisory' | 'mandatory'
    name: string
    policy_set_version_id: string
    position: number
    query: string
  }
  policy_set_versions: {
    blob_key: string | null
    commit_identifier: string | null
    commit_sha: string | null
    commit_url: string | null
    created_at: Timestamp
    created_by_user_id: string | null
    digest: string | null
    error: string | null
    error_message: string | null
    id: string
    policies_path: Generated<string>
    policy_set_id: string
    seq: Generated<number>
    size: number | null
    source: string
    status: 'pending' | 'ingressing' | 'ready' | 'errored'
    status_timestamps: OptionalJson
    updated_at: Timestamp
  }
  policy_set_workspaces: {
    is_exclusion: boolean
    policy_set_id: string
    workspace_id: string
  }
  policy_sets: {
    created_at: Timestamp
    current_version_id: string | null
    description: Generated<string>
    id: string
    is_global: Generated<boolean>
    is_versioned: Generated<boolean>
    kind: Generated<string>
    name: string
    organization_id: string
    overridable: Generated<boolean>
    policies_path: Generated<string>
    policy_tool_version: Generated<string>
    policy_update_patterns: Generated<string[]>
    repository_id: string | null
    updated_at: Timestamp
    vcs_branch: string | null
    vcs_submodules: Generated<boolean>
  }
  policy_sources: {
    code: string
    policy_id: string
  }
  policy_trial_runs: {
    advisory_failed: Generated<number>
    error: string | null
    errored: Generated<number>
    id: string
    mandatory_failed: Generated<number>
    outcomes: OptionalJson
    overridable: Generated<boolean>
    passed: Generated<number>
    policy_trial_id: string
    position: number
    run_id: string
    status: Generated<'pending' | 'passed' | 'warned' | 'stopped' | 'errored'>
    tool_version: string | null
  }
  policy_trials: {
    blob_key: string | null
    created_at: Timestamp
    created_by_user_id: string | null
    error_message: string | null
    id: string
    older_runs: Generated<number>
    organization_id: string
    planless_runs: Generated<number>
    policies_path: Generated<string>
    policy_set_id: string | null
    policy_tool_version: string
    rules: Buffer | null
    seq: Generated<number>
    source: 'upload' | 'policy-set'
    status: 'pending' | 'running' | 'finished' | 'errored' | 'canceled'
    unreadable_runs: Generated<number>
    updated_at: Timestamp
  }
  projects: {
    auto_destroy_activity_duration: string | null
    created_at: Timestamp
    default_agent_pool_id: string | null
    default_execution_mode: 'remote' | 'local' | 'agent' | null
    description: string | null
    id: string
    name: string
    organization_id: string
    updated_at: Timestamp
  }
  pull_request_comments: {
    comment_id: string | null
    digest: string | null
    error: string | null
    marker: string
    pull_request_number: number
    repository_id: string
    updated_at: Timestamp
  }
  recovery_codes: {
    hash: Buffer
    user_id: string
  }
  registry_module_documents: {
    documents: Json
    read_at: Timestamp
    registry_module_version_id: string
  }
  registry_module_uses: {
    registry_module_id: string
    used_at: Timestamp
    version: string
    workspace_id: string
  }
  registry_module_versions: {
    blob_key: string | null
    commit_sha: string | null
    created_at: Timestamp
    created_by_user_id: string | null
    error: string | null
    id: string
    md5: string | null
    registry_module_id: string
    size: number | null
    source: 'tfe-api' | 'vcs'
    status: 'pending' | 'cloning' | 'clone_failed' | 'reg_ingress_req_failed' | 'reg_ingressing' | 'reg_ingress_failed' | 'ok'
    updated_at: Timestamp
    version: string
  }
  registry_modules: {
    created_at: Timestamp
    id: string
    name: string
    namespace: string | null
    no_code: Generated<boolean>
    organization_id: string
    provider: string
    registry_name: 'private' | 'public'
    repository_id: string | null
    status: 'pending' | 'no_version_tags' | 'setup_failed' | 'setup_complete'
    tags: OptionalJson
    test_config: Json | null
    updated_at: Timestamp
    vcs_branch: string | null
    vcs_source_directory: string | null
    vcs_tag_prefix: string | null
    vcs_tags: Generated<boolean>
  }
  registry_provider_platforms: {
    arch: string
    blob_key: string | null
    created_at: Timestamp
    filename: string
    id: string
    os: string
    registry_provider_version_id: string
    shasum: string
    size: number | null
  }
  registry_provider_uses: {
    registry_provider_id: string
    used_at: Timestamp
    version: string
    workspace_id: string
  }
  registry_provider_versions: {
    created_at: Timestamp
    id: string
    key_id: string
    protocols: string[]
    registry_provider_id: string
    shasums: Buffer | null
    shasums_signature: Buffer | null
    updated_at: Timestamp
    version: string
  }
  registry_providers: {
    created_at: Timestamp
    id: string
    name: string
    namespace: string | null
    organization_id: string
    registry_name: 'private' | 'public'
    tags: OptionalJson
    updated_at: Timestamp
  }
  remote_state_consumers: {
    consumer_id: string
    workspace_id: string
  }
  repositories: {
    clone_url: string
    comment_error: string | null
    created_at: Timestamp
    default_branch: string | null
    display_identifier: string
    github_app_installation_id: string | null
    id: string
    identifier: string
    missing_branches: Generated<string[]>
    next_poll_at: Timestamp | null
    oauth_token_id: string | null
    organization_id: string
    page_url: string
    poll_failures: Generated<number>
    polled_at: Timestamp | null
    polled_refs: Json | null
    read_error: string | null
    ssh_url: string | null
    status_error: string | null
    webhook_error: string | null
    webhook_id: string | null
    webhook_path: string
    webhook_secret: Buffer
  }
  reserved_tag_keys: {
    created_at: Timestamp
    disable_overrides: Generated<boolean>
    id: string
    key: string
    organization_id: string
    updated_at: Timestamp
  }
  reviewed_plans: {
    created_at: Timestamp
    difference_count: number
    differences: Json
    pull_request_number: number | null
    pull_request_url: string | null
    repository_id: string | null
    result: 'pending' | 'identical' | 'different' | 'unreviewed' | 'unknown'
    reviewed_run_id: string | null
    run_id: string
  }
  run_events: {
    action: string
    actor_user_id: string | null
    comment_id: string | null
    created_at: Timestamp
    description: string | null
    id: string
    run_id: string
    seq: Generated<number>
  }
  run_keys: {
    created_at: Timestamp
    organization_id: string
    run_id: string
    seq: number
    words: string
    workspace_id: string
  }
  run_triggers: {
    created_at: Timestamp
    id: string
    last_fired_at: Timestamp | null
    seq: Generated<number>
    source_id: string
    workspace_id: string
  }
  runs: {
    agent_pool_id: string
    allow_config_generation: boolean
    allow_empty_apply: boolean
    auto_apply: boolean
    awaits_review: Generated<boolean>
    base_state_version_id: string | null
    cancel_requested_at: Timestamp | null
    canceled_by_user_id: string | null
    configuration_version_id: string
    confirmed_at: Timestamp | null
    confirmed_by_user_id: string | null
    created_at: Timestamp
    created_by_user_id: string | null
    debugging_mode: boolean
    engine_is_open: Generated<boolean>
    engine_organization_name: string | null
    engine_product: 'terraform' | 'tofu'
    engine_version: string
    engine_version_required: Generated<boolean>
    engine_workspace_name: string | null
    error: string | null
    execution_mode: 'remote' | 'agent'
    fetches: Generated<boolean>
    force_cancel_available_at: Timestamp | null
    has_changes: Generated<boolean>
    id: string
    ingress_attributes_id: string | null
    is_destroy: boolean
    message: string
    number: number
    occupies: Generated<boolean>
    organization_id: string
    plan_only: boolean
    queue_order: Generated<number>
    refresh: boolean
    refresh_only: boolean
    replace_addrs: Generated<string[]>
    save_plan: boolean
    seq: Generated<number>
    source: 'tfe-api' | 'tfe-ui' | 'tfe-configuration-version' | 'tfe-run-trigger' | 'terraform' | 'terraform+cloud'
    stages: Generated<string[]>
    status: RunStatus
    status_timestamps: OptionalJson
    structured_output: boolean
    target_addrs: Generated<string[]>
    traceparent: string | null
    trigger_depth: Generated<number>
    trigger_reason: Generated<string>
    triggering_run_id: string | null
    triggering_workspace_id: string | null
    updated_at: Timestamp
    variables: OptionalJson
    waits: Generated<boolean>
    withholds_secrets: Generated<boolean>
    working_directory: string
    workspace_id: string
  }
  samples: {
    app_workspace_id: string | null
    created_at: Timestamp
    created_by_user_id: string | null
    id: string
    network_workspace_id: string | null
    organization_id: string
    project_id: string | null
    task_id: string | null
    variable_set_id: string | null
  }
  servers: {
    base_url: string | null
    id: string
    issuer_url: string | null
    migration: string
    role: 'all' | 'api' | 'worker'
    started_at: Timestamp
    version: string
  }
  sessions: {
    address: string | null
    created_at: Timestamp
    expires_at: Timestamp
    hash: Buffer
    id: string
    idle_minutes: number
    last_used_at: Timestamp
    longest_idle_minutes: Generated<number>
    user_agent: string | null
    user_id: string
  }
  sign_in_attempts: {
    count: number
    key: string
    started_at: Timestamp
  }
  sign_in_places: {
    last_at: Timestamp
    place: string
    user_id: string
  }
  sign_in_settings: {
    client_id: string | null
    client_secret: Buffer | null
    group_claim: string
    issuer: string | null
    name: string
    only_row: Generated<boolean>
    password_sign_in: boolean
    scopes: string
    updated_at: Timestamp
  }
  sign_in_trials: {
    created_at: Timestamp
    fingerprint: string
    finished_at: Timestamp | null
    id: string
    proves_sign_in: Generated<boolean>
    result: Buffer | null
    settings: Buffer
    user_id: string
  }
  ssh_keys: {
    created_at: Timestamp
    id: string
    name: string
    organization_id: string
    value: Buffer
  }
  sso_identities: {
    created_at: Timestamp
    issuer: string
    last_sign_in_at: Timestamp
    subject: string
    user_id: string
  }
  state_contents: {
    kind: 'raw' | 'json'
    sealed: Buffer
    state_version_id: string
  }
  state_diffs: {
    created_at: Timestamp
    from_id: string | null
    revision: number
    sealed: Buffer
    to_id: string
  }
  state_version_outputs: {
    detailed_type: Json
    id: string
    name: string
    sensitive: boolean
    state_version_id: string
    type: string
    value: Buffer
  }
  state_versions: {
    awaits_json: Generated<boolean>
    billable_count: number | null
    created_at: Timestamp
    created_by_user_id: string | null
    engine_version: string | null
    format: number | null
    id: string
    instances: Buffer | null
    intermediate: Generated<boolean>
    json_location: string | null
    lineage: string | null
    lock_holder_id: string | null
    md5: string
    modules: Json | null
    providers: Json | null
    purge_at: Timestamp | null
    raw_location: string | null
    resource_count: Generated<number>
    resource_list: Buffer | null
    resources: Json | null
    resources_processed: Generated<boolean>
    revision: number
    rollback_of_id: string | null
    run_id: string | null
    serial: number
    size: number | null
    soft_deleted_at: Timestamp | null
    status: 'pending' | 'finalized' | 'discarded' | 'backing_data_soft_deleted' | 'backing_data_permanently_deleted'
    workspace_id: string
  }
  tag_bindings: {
    created_at: Timestamp
    id: string
    is_binding: Generated<boolean>
    key: string
    organization_id: string
    project_id: string | null
    tag_id: Generated<string>
    value: Generated<string>
    workspace_id: string | null
  }
  task_claims: {
    agent_id: string
    agent_pool_id: string
    claimed_at: Timestamp
  }
  task_deliveries: {
    agent_name: string | null
    attempt: number
    duration_ms: number
    error: string | null
    id: string
    is_private: Generated<boolean>
    next_attempt_at: Timestamp | null
    request_body: string
    request_headers: Json
    response_body: Buffer | null
    response_headers: Json | null
    response_status: number | null
    response_truncated: Generated<boolean>
    sent_at: Timestamp
    task_id: string | null
    task_result_id: string
    url: string
  }
  task_outcome_bodies: {
    body: string
    task_outcome_id: string
  }
  task_outcomes: {
    created_at: Timestamp
    description: string
    id: string
    outcome_id: string
    seq: Generated<number>
    tags: OptionalJson
    task_result_id: string
    updated_at: Timestamp
    url: string | null
  }
  task_requests: {
    agent_name: string | null
    agent_pool_id: string
    claim_until: Timestamp
    content: Buffer | null
    created_at: Timestamp
    id: string
    kind: Generated<'task' | 'repository' | 'git'>
    lease_expires_at: Timestamp | null
    leased_at: Timestamp | null
    leases: Generated<number>
    request: Buffer
    response: Buffer | null
    seq: Generated<number>
    status: Generated<'queued' | 'leased' | 'answered'>
    task_result_id: string | null
    timeout_ms: number
    token_hash: Buffer | null
  }
  task_results: {
    access_token: Buffer | null
    agent_pool_id: string | null
    attempts: Generated<number>
    called_back_at: Timestamp | null
    created_at: Timestamp
    deadline_at: Timestamp | null
    delivered_at: Timestamp | null
    delivery_due_at: Timestamp | null
    enforcement_level: 'advisory' | 'mandatory'
    id: string
    lease_expires_at: Timestamp | null
    message: string | null
    outcome_levels: OptionalJson
    outcomes_count: Generated<number>
    run_id: string
    stage: 'pre_plan' | 'post_plan' | 'pre_apply' | 'post_apply'
    started_at: Timestamp | null
    status: Generated<'pending' | 'running' | 'passed' | 'failed' | 'errored' | 'canceled' | 'unreachable'>
    status_timestamps: OptionalJson
    task_id: string
    task_name: string
    task_stage_id: string
    task_url: string
    updated_at: Timestamp
    url: string | null
    workspace_task_id: string | null
  }
  task_stages: {
    created_at: Timestamp
    deferred_until: Timestamp | null
    id: string
    message: string | null
    position: number
    run_id: string
    stage: 'pre_plan' | 'post_plan' | 'pre_apply' | 'post_apply'
    status: Generated<'pending' | 'running' | 'passed' | 'failed' | 'awaiting_override' | 'errored' | 'canceled' | 'unreachable'>
    status_timestamps: OptionalJson
    updated_at: Timestamp
  }
  tasks: {
    agent_pool_id: string | null
    ca_certificates: string | null
    category: Generated<string>
    created_at: Timestamp
    description: string | null
    enabled: Generated<boolean>
    global_enabled: Generated<boolean>
    global_enforcement_level: Generated<'advisory' | 'mandatory'>
    global_stages: Generated<string[]>
    hmac_key: Buffer | null
    id: string
    name: string
    organization_id: string
    updated_at: Timestamp
    url: string
  }
  team_members: {
    created_at: Timestamp
    team_id: string
    user_id: string
    via_sso: Generated<boolean>
  }
  team_projects: {
    access: 'read' | 'write' | 'maintain' | 'admin' | 'custom'
    created_at: Timestamp
    id: string
    policy_overrides: Generated<boolean>
    project_id: string
    project_settings: Generated<'read' | 'update' | 'delete'>
    project_teams: Generated<'none' | 'read' | 'manage'>
    project_variable_sets: Generated<'none' | 'read' | 'write'>
    run_tasks: Generated<boolean>
    runs: Generated<'read' | 'plan' | 'apply'>
    sentinel_mocks: Generated<'none' | 'read'>
    state_versions: Generated<'none' | 'read-outputs' | 'read' | 'write'>
    team_id: string
    variables: Generated<'none' | 'read' | 'write'>
    workspace_create: Generated<boolean>
    workspace_delete: Generated<boolean>
    workspace_locking: Generated<boolean>
    workspace_move: Generated<boolean>
  }
  team_workspaces: {
    access: 'read' | 'plan' | 'write' | 'admin' | 'custom'
    created_at: Timestamp
    id: string
    policy_overrides: Generated<boolean>
    run_tasks: Generated<boolean>
    runs: Generated<'read' | 'plan' | 'apply'>
    sentinel_mocks: Generated<'none' | 'read'>
    state_versions: Generated<'none' | 'read-outputs' | 'read' | 'write'>
    team_id: string
    variables: Generated<'none' | 'read' | 'write'>
    workspace_id: string
    workspace_locking: Generated<boolean>
  }
  teams: {
    access_secret_teams: Generated<boolean>
    allow_member_token_management: Generated<boolean>
    created_at: Timestamp
    delegate_policy_overrides: Generated<boolean>
    description: string | null
    id: string
    is_owners: Generated<boolean>
    manage_agent_pools: Generated<boolean>
    manage_membership: Generated<boolean>
    manage_modules: Generated<boolean>
    manage_organization_access: Generated<boolean>
    manage_policies: Generated<boolean>
    manage_policy_overrides: Generated<boolean>
    manage_projects: Generated<boolean>
    manage_providers: Generated<boolean>
    manage_run_tasks: Generated<boolean>
    manage_teams: Generated<boolean>
    manage_vcs_settings: Generated<boolean>
    manage_workspaces: Generated<boolean>
    name: string
    organization_access: Generated<number>
    organization_id: string
    read_projects: Generated<boolean>
    read_workspaces: Generated<boolean>
    service_user_id: string
    sso_team_id: string | null
    updated_at: Timestamp
    visibility: Generated<'secret' | 'organization'>
  }
  tokens: {
    agent_pool_id: string | null
    created_at: Timestamp
    created_by_user_id: string | null
    description: string | null
    expires_at: Timestamp | null
    from_setting: Generated<boolean>
    hash: Buffer
    id: string
    is_legacy: Generated<boolean>
    kind: 'user' | 'team' | 'organization' | 'audit-trails' | 'agent' | 'run' | 'task'
    last_used_at: Timestamp | null
    organization_id: string | null
    run_id: string | null
    task_result_id: string | null
    team_id: string | null
    user_id: string | null
    workspace_id: string | null
  }
  trigger_firings: {
    after_state_version_id: string | null
    before_state_version_id: string | null
    created_at: Timestamp
    decided_at: Timestamp | null
    fire_at: Timestamp
    id: Generated<number>
    reason: string | null
    run_id: string | null
    source_run_id: string
    status: Generated<'waiting' | 'fired' | 'skipped'>
    workspace_id: string
  }
  two_factor_secrets: {
    created_at: Timestamp
    last_step: Generated<number>
    secret: Buffer
    user_id: string
    verified_at: Timestamp | null
  }
  users: {
    auth_method: Generated<'password' | 'sso' | 'token'>
    avatar: string | null
    created_at: Timestamp
    email: string | null
    id: string
    is_service_account: Generated<boolean>
    is_site_admin: Generated<boolean>
    password_hash: string | null
    suspended_at: Timestamp | null
    unconfirmed_email: string | null
    updated_at: Timestamp
    username: string
  }
  variable_set_projects: {
    project_id: string
    variable_set_id: string
  }
  variable_set_workspaces: {
    variable_set_id: string
    workspace_id: string
  }
  variable_sets: {
    created_at: Timestamp
    description: Generated<string>
    id: string
    is_global: Generated<boolean>
    name: string
    organization_id: string
    priority: Generated<boolean>
    project_id: string | null
    updated_at: Timestamp
  }
  variables: {
    category: 'terraform' | 'env'
    created_at: Timestamp
    description: Generated<string>
    hcl: Generated<boolean>
    id: string
    key: string
    sealed_value: Buffer | null
    sensitive: Generated<boolean>
    updated_at: Timestamp
    value: string | null
    variable_set_id: string | null
    version_id: string
    workspace_id: string | null
  }
  vcs_authorizations: {
    expires_at: Timestamp
    hash: Buffer
    installation_id: number | null
    oauth_client_id: string | null
    organization_id: string
    session_id: string
  }
  vcs_commit_runs: {
    commit_sha: string
    kind: 'run' | 'plan'
    run_id: string | null
    workspace_id: string
  }
  vcs_decisions: {
    decision: 'run' | 'plan' | 'skip'
    delivery_id: string
    detail: string | null
    reason: string
    run_id: string | null
    workspace_id: string
  }
  vcs_deliveries: {
    decided_at: Timestamp | null
    delivery_key: string
    event: Json | null
    id: string
    message: string | null
    organization_id: string
    received_at: Timestamp
    repository_id: string | null
    repository_identifier: string
    source: 'webhook' | 'polling' | 'replay'
    status: 'pending' | 'decided' | 'ignored' | 'failed'
  }
  vcs_events: {
    created_at: Timestamp
    id: string
    level: 'info' | 'error'
    message: string
    oauth_client_id: string | null
    oauth_token_id: string | null
    organization_id: string
    suggested_action: string | null
  }
  vcs_publications: {
    commit_ref: string | null
    commit_sha: string | null
    commit_url: Generated<string>
    created_at: Timestamp
    delivery_id: string | null
    detail: string | null
    ended_at: Timestamp | null
    id: string
    message: string | null
    organization_id: string
    policy_set_id: string | null
    reason: string
    registry_module_id: string | null
    reported_at: Timestamp
    repository_id: string | null
    seq: Generated<number>
    status: 'pending' | 'published' | 'skipped' | 'failed'
    version: string | null
  }
  workspace_tasks: {
    created_at: Timestamp
    enforcement_level: 'advisory' | 'mandatory'
    id: string
    stages: string[]
    task_id: string
    updated_at: Timestamp
    workspace_id: string
  }
  workspaces: {
    active_run_id: string | null
    agent_pool_id: string | null
    allow_destroy_plan: Generated<boolean>
    assessments_enabled: Generated<boolean>
    auto_apply: Generated<boolean>
    auto_apply_reviewed: Generated<boolean>
    auto_apply_run_trigger: Generated<boolean>
    auto_destroy_activity_duration: string | null
    auto_destroy_at: Timestamp | null
    created_at: Timestamp
    current_configuration_version_id: string | null
    current_run_created_at: Timestamp | null
    current_run_final_status: RunStatus | null
    current_run_id: string | null
    current_state_version_id: string | null
    description: string | null
    engine_version: string
    engine_version_required: Generated<boolean>
    execution_mode: 'remote' | 'local' | 'agent' | null
    file_triggers_enabled: Generated<boolean>
    global_remote_state: Generated<boolean>
    has_drift: boolean | null
    id: string
    inherits_project_auto_destroy: Generated<boolean>
    kpi_apply_duration: number | null
    kpi_failure_count: number | null
    kpi_plan_duration: number | null
    kpi_run_count: number | null
    latest_change_at: Timestamp
    latest_run_id: string | null
    latest_state_lineage: string | null
    latest_state_md5: string | null
    latest_state_serial: number | null
    latest_state_version_id: string | null
    locked_at: Timestamp | null
    locked_by_id: string | null
    locked_by_type: 'user' | 'team' | 'run' | null
    locked_reason: string | null
    name: string
    organization_id: string
    pending_state_version_id: string | null
    project_id: string
    project_remote_state: Generated<boolean>
    queue_all_runs: Generated<boolean>
    repository_id: string | null
    resource_count: Generated<number>
    run_count: Generated<number>
    source: Generated<string>
    source_name: string | null
    source_url: string | null
    speculative_enabled: Generated<boolean>
    ssh_key_id: string | null
    state_providers: Generated<string[]>
    state_revision: Generated<number>
    state_version_count: Generated<number>
    structured_run_output_enabled: Generated<boolean>
    trigger_only_on_output_change: Generated<boolean>
    trigger_patterns: Generated<string[]>
    trigger_prefixes: Generated<string[]>
    updated_at: Timestamp
    vcs_branch: string | null
    vcs_submodules: Generated<boolean>
    vcs_tags_regex: string | null
    waiting_runs: Generated<number>
    working_directory: Generated<string>
  }
}
