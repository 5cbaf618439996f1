/** E-mail notification configurations name people who were invited and have no account yet. */
export const up = `
create table notification_configuration_invitations (
  configuration_id text not null references notification_configurations on delete cascade,
  -- an invitation, or the membership that it became
  membership_id text not null references organization_memberships on delete cascade,
  primary key (configuration_id, membership_id)
);
create index notification_configuration_invitations_membership_idx
  on notification_configuration_invitations (membership_id);
`
