/** `mlflow:URL`: a run of an MLflow server. */
import { serverAddress } from '../../base/http/index.ts';
import { keepLogin, keepSecret, sleepClock } from '../../base/index.ts';
import { mlflow } from '../mlflow/mlflow.ts';
import { PatientClient } from '../outside/patientClient.ts';
import { carryMetrics, type Exporter } from './exporter.ts';

export const mlflowExporter: Exporter = {
  form: 'mlflow:URL',
  where: (given) => serverAddress(given, { what: 'an MLflow server', suffix: '/api/2.0/mlflow' }),
  open(url, { about, clock, notice, patienceMs }) {
    const headers = mlflowLogin(process.env);
    const options = { what: 'MLflow', url, headers, clock: sleepClock(clock), notice, patienceMs };
    const client = new PatientClient(options);
    const experiment = process.env.MLFLOW_EXPERIMENT_NAME ?? 'millrace';
    const to = mlflow(about, { client, experiment });
    return carryMetrics(to, {
      name: `MLflow at ${url}`,
      how: () => `; see them at ${url}/${to.where()}`,
      close: () => client.close(),
    });
  },
};

/** Uses the variables that MLflow's own clients read. */
function mlflowLogin(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const { MLFLOW_TRACKING_TOKEN: token = '' } = env;
  const { MLFLOW_TRACKING_USERNAME: user = '', MLFLOW_TRACKING_PASSWORD: password = '' } = env;
  keepSecret(token);
  keepLogin(user, password);
  if (token !== '') return { authorization: `Bearer ${token}` };
  if (user === '' && password === '') return {};
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}
