-- One row of the account acct_@ in every table that holds accounts' rows; @ is a letter that may stand in a digest.
INSERT INTO accounts (id, email, name, created_at) VALUES ('acct_@', '@', 'Ada', now());
INSERT INTO sessions (token_sha256, account_id, created_at, expires_at, last_seen_at) VALUES (decode(repeat('@', 64), 'hex'), 'acct_@', now(), now() + interval '1 day', now());
INSERT INTO sign_in_links (token_sha256, session_sha256, account_id, expires_at)
    VALUES (decode(repeat('@', 64), 'hex'), decode(repeat('@', 64), 'hex'), 'acct_@', now() + interval '1 minute');
INSERT INTO email_proofs (token_sha256, account_id, email, created_at, expires_at)
    VALUES (decode(repeat('@', 64), 'hex'), 'acct_@', '@@example.org', now(), now() + interval '1 day');
INSERT INTO api_keys (id, account_id, name, environment, scopes, prefix, last4, secret_hmac, created_at)
    VALUES ('key_@', 'acct_@', 'key', 'live', '{jobs:read}', 'sk', 'abcd', decode(repeat('@', 64), 'hex'), now());
INSERT INTO account_identities (issuer, subject, account_id, created_at) VALUES ('https://id.example.org', '@', 'acct_@', now());
INSERT INTO uploads (storage_key, account_id, filename, content_type, byte_size, created_at, expires_at) VALUES ('accounts/acct_@/scene', 'acct_@', 'scene', 'text/plain', 1, now(), now());
INSERT INTO multipart_uploads (id, account_id, storage_key, store_handle, filename, content_type, byte_size, part_bytes, part_count, checksummed, state, created_at, expires_at)
    VALUES ('mpu_@', 'acct_@', 'accounts/acct_@/large', 'handle', 'large', 'text/plain', 1, 1, 1, true, 'open', now(), now());
INSERT INTO idempotency_keys (account_id, operation, key, request_sha256, response, created_at, expires_at) VALUES ('acct_@', 'jobs.submit', 'key', repeat('@', 64), '{}', now(), now());
INSERT INTO license_servers (id, account_id, name, vendor, product, license_key, protocol, host, port, seats, enforcement, enabled, status, created_at)
    VALUES ('lic_@', 'acct_@', 'server', 'vendor', 'product', 'vendor product', 'flexlm', 'license.example.org', 27000, 1, 'ENFORCED', true, 'UNVERIFIED', now());

INSERT INTO projects (id, account_id, name, description, tags, current_version, stored_bytes, created_at, updated_at)
    VALUES ('00000000-0000-0000-0000-00000000000@', 'acct_@', 'project', '', '{}', 1, 2, now(), now());
INSERT INTO project_contents (project_id, sha256, content) VALUES ('00000000-0000-0000-0000-00000000000@', repeat('@', 64), '{}');
INSERT INTO project_revisions (project_id, version, content_sha256, created_at) VALUES ('00000000-0000-0000-0000-00000000000@', 1, repeat('@', 64), now());
INSERT INTO project_shares (id, project_id, version, name, created_at) VALUES ('10000000-0000-0000-0000-00000000000@', '00000000-0000-0000-0000-00000000000@', 1, 'project', now());

INSERT INTO jobs (id, account_id, job_type, scene_file, request, status, stage_count, task_count, estimated_pence, held_pence, created_at, updated_at)
    VALUES ('job_@', 'acct_@', 'molecular', 'accounts/acct_@/scene', '{}', 'RUNNING', 1, 1, 1, 1, now(), now());
INSERT INTO job_status_history (job_id, seq, status, at) VALUES ('job_@', 1, 'SUBMITTED', now());
INSERT INTO job_events (job_id, kind, body, at) VALUES ('job_@', 'status', '{}', now());
INSERT INTO worker_faults (job_id, worker_id, attempts, code, at) VALUES ('job_@', 'worker', 1, 'WORKER_LOST', now());
INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue, ready, status)
    VALUES ('task_@', 'job_@', 'acct_@', 0, 'dock', 0, 'dock-00000', true, 1, 'cpu.autodock-vina', true, 'RUNNING');
INSERT INTO plan_blocks (job_id, first_ordinal, shards) VALUES ('job_@', 0, '');
INSERT INTO task_details (task_id) VALUES ('task_@');
INSERT INTO task_attempts (task_id, attempt, outcome, finished_at) VALUES ('task_@', 1, 'LOST', now());
INSERT INTO task_checkpoints (task_id, name, storage_key, sha256, byte_size, attempt, at) VALUES ('task_@', 'checkpoint/state', 'accounts/acct_@/state', repeat('@', 64), 1, 1, now());
INSERT INTO known_work (account_id, identity, toolchain, task_id, attempt, at) VALUES ('acct_@', '\x@@', repeat('@', 64), 'task_@', 1, now());
INSERT INTO kept_work (task_id, attempt, cpu_us, gpu_us, wall_ms, at) VALUES ('task_@', 1, 1, 0, 1, now());
INSERT INTO artifacts (id, job_id, task_id, account_id, name, role, storage_key, sha256, byte_size, media_type, format, created_at)
    VALUES ('art_@', 'job_@', 'task_@', 'acct_@', 'poses.sdf', 'result', 'accounts/acct_@/poses', repeat('@', 64), 1, 'chemical/x-mdl-sdfile', 'sdf', now());

INSERT INTO credit_accounts (account_id, monthly_reset_at) VALUES ('acct_@', now());
INSERT INTO holds (job_id, run, account_id, wallet_pence, monthly_pence, monthly_expires_at, status, created_at) VALUES ('job_@', 1, 'acct_@', 0, 1, now(), 'open', now());
INSERT INTO ledger_entries (id, account_id, type, bucket, amount_pence, balance_before_pence, balance_after_pence, description, created_at)
    VALUES ('txn_@', 'acct_@', 'bonus', 'wallet', 1, 0, 1, 'welcome', now());
INSERT INTO ledger_postings (entry_id, account, amount_pence) VALUES ('txn_@', 'wallet:acct_@', 1), ('txn_@', 'promotion', -1);
INSERT INTO payments (id, account_id, tier_id, price_pence, bonus_pence, status, created_at, updated_at) VALUES ('pay_@', 'acct_@', 'topup-10', 1000, 0, 'pending', now(), now());
INSERT INTO payment_events (id, payment_id, kind, outcome, received_at) VALUES ('evt_@', 'pay_@', 'failed', 'noted', now());

INSERT INTO docking_experiments (id, account_id, receptor_key, name, receptor, created_at) VALUES ('exp_@', 'acct_@', 'pdb:1IEP', '1IEP', '{}', now());
INSERT INTO docking_batches (id, account_id, experiment_id, job_id, shard_size, seed, ligand_count, created_at) VALUES ('batch_@', 'acct_@', 'exp_@', 'job_@', 1, 1, 1, now());
INSERT INTO docking_runs (id, account_id, experiment_id, batch_id, job_id, exhaustiveness, num_modes, energy_range_kcal_mol, seed, cpu_threads, ligand_count, created_at)
    VALUES ('run_@', 'acct_@', 'exp_@', 'batch_@', 'job_@', 8, 9, 3, 1, 1, 1, now());
INSERT INTO docking_results (id, account_id, run_id, ligand_index, ligand_id, label, source, prepare_task, dock_task, status, created_at, updated_at)
    VALUES ('result_@', 'acct_@', 'run_@', 0, 'ATP', 'ATP', 'ccd', 'prepare', 'dock-00000', 'DOCKING', now(), now());
INSERT INTO docking_poses (id, account_id, result_id, rank, score_kcal_mol, rmsd_lower_bound, rmsd_upper_bound, inter, intra, torsional, unbound, created_at)
    VALUES ('pose_@', 'acct_@', 'result_@', 1, -9, 0, 0, -9, 0, 0, 0, now());
INSERT INTO docking_preparations (account_id, cache_key, receptor_identity_sha256, preparation_sha256, toolchain_sha256, identity, preparation, task_id, created_at)
    VALUES ('acct_@', repeat('@', 64), repeat('@', 64), repeat('@', 64), repeat('@', 64), '{}', '{}', 'task_@', now());
INSERT INTO searches (job_id, account_id, program, database_name, database_version, database_type, database_released_on, database_checksum, database_sequences, database_residues, parameters, created_at)
    VALUES ('job_@', 'acct_@', 'blastp', 'swissprot', '2026_01', 'prot', '2026-01-28', repeat('@', 64), 1, 1, '{}', now());
INSERT INTO search_queries (job_id, account_id, query_index, status, updated_at) VALUES ('job_@', 'acct_@', 0, 'PENDING', now());
INSERT INTO renders (job_id, account_id, engine, scene, created_at) VALUES ('job_@', 'acct_@', 'cycles', 'key:scene:1', now());
INSERT INTO render_costs (account_id, scene, engine, load_cpu_seconds, frame_cpu_seconds, at) VALUES ('acct_@', 'key:scene:1', 'cycles', 1, 1, now());
INSERT INTO audit_log (at, account_id, actor, event) VALUES (now(), 'acct_@', 'owner', 'session.started');
INSERT INTO job_inputs (job_id, account_id, storage_key) VALUES ('job_@', 'acct_@', 'accounts/acct_@/uploads/upl_@/scene.cif');
INSERT INTO deleted_results (id, account_id, job_id, deleted_at) VALUES ('run_deleted_@', 'acct_@', 'job_@', now());
INSERT INTO removals (prefix, account_id, asked_at, due_at) VALUES ('accounts/acct_@/jobs/job_@/', 'acct_@', now(), now());
INSERT INTO studio_sessions (id, account_id, title, state, created_at, updated_at) VALUES ('ses_@', 'acct_@', 'imatinib', '{}', now(), now());
INSERT INTO studio_messages (session_id, account_id, body, created_at) VALUES ('ses_@', 'acct_@', '{}', now());
INSERT INTO receipt_keys (id, public_key, created_at) VALUES (repeat('@', 64), decode(repeat('@', 64), 'hex'), now());
INSERT INTO receipts (job_id, account_id, run, key_id, statement, signature, signed_at) VALUES ('job_@', 'acct_@', 1, repeat('@', 64), '', decode(repeat('@', 128), 'hex'), now());
INSERT INTO webhooks (id, account_id, url, description, events, low_credit_pence, enabled, secret_sealed, secret_id, since, created_at)
    VALUES ('whk_@', 'acct_@', 'https://example.org', '', '{job.ended}', 500, false, '', '', now(), now());
INSERT INTO webhook_deliveries (webhook_id, id, account_id, event, subject, body, state, next_at, created_at)
    VALUES ('whk_@', 'msg_@', 'acct_@', 'job.ended', 'job_@', '{}', 'PENDING', now(), now());
INSERT INTO api_key_networks (key_id, network, account_id, news, first_seen_at, last_seen_at)
    VALUES ('key_@', '198.51.100.0/24', 'acct_@', true, now(), now());
INSERT INTO notice_settings (account_id, events, low_credit_pence, since) VALUES ('acct_@', '{job.ended}', 100, now());
INSERT INTO notices (account_id, id, event, subject, body, state, next_at, created_at)
    VALUES ('acct_@', 'msg_@', 'job.ended', 'job_@', '{}', 'PENDING', now(), now());
